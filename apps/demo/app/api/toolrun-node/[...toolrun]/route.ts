import { createShopAssistant } from "../../../../lib/toolrun.ts";

export const runtime = "nodejs"; // the same endpoint on Node: nothing else differs
export const dynamic = "force-dynamic";
export const { GET, POST, DELETE } = createShopAssistant();
