import { isToolRunError } from "toolrun";
import { demoModel } from "../../../../lib/model.ts";

/** Which model answers, for the line under the chat's title: names of variables, never their values. */
export const runtime = "edge";
export const dynamic = "force-dynamic";

export function GET(): Response {
  const headers = { "cache-control": "no-store" };
  try {
    const { label, scripted, source } = demoModel();
    return Response.json({ label, scripted, source }, { headers });
  } catch (error) {
    if (!isToolRunError(error)) throw error;
    const { code, message } = error;
    return Response.json({ error: { code, message } }, { status: 503, headers });
  }
}
