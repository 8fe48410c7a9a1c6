import { waitUntil } from "cloudflare:workers";
import { handlerUnderTest } from "../../src/testing/handler-under-test.ts";

const { GET } = handlerUnderTest({ waitUntil });

// biome-ignore lint/style/noDefaultExport: what a Worker is
export default { fetch: (request: Request): Promise<Response> => GET(request) };
