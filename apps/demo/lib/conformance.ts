import { memoryStore, type ToolRun } from "toolrun/server";
import { handlerUnderTest } from "toolrun/testing";

/** What e2e/conformance.spec.ts talks to. Nobody else finds it: whoever asks there is whom they say they are. */
export function createConformance(): Pick<ToolRun, "GET" | "POST" | "DELETE"> {
  const { GET } = handlerUnderTest({ store: memoryStore() });
  const answer = async (request: Request): Promise<Response> =>
    process.env.TOOLRUN_CONFORMANCE === "1" ? GET(request) : new Response(null, { status: 404 });
  return { GET: answer, POST: answer, DELETE: answer };
}
