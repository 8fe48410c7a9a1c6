import { openThreads } from "../../../../lib/open-threads.ts";
import { storeApi } from "../../../../lib/store-api.ts";

/** The conversations, for this app's own edge route: see lib/http-store.ts. Browsers get 404. */
export const runtime = "nodejs";
export const dynamic = "force-dynamic";
export const POST = storeApi(openThreads);
