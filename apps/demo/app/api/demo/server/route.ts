/**
 * The process behind this page, for "Restart the server". It is there only under `scripts/supervise.mjs`, on this
 * machine: else 404. GET names the process, so that the page sees when another one answers. POST has it killed, by the
 * supervisor, which starts the next one: from this page only, never from another site's.
 */
export const runtime = "nodejs";
export const dynamic = "force-dynamic";

export function GET(request: Request): Response {
  if (!process.env.DEMO_SUPERVISOR || !isLocal(request)) return notFound();
  return Response.json({ life: lifeOfProcess() }, { headers });
}

export async function POST(request: Request): Promise<Response> {
  const supervisor = process.env.DEMO_SUPERVISOR;
  if (!supervisor || !isLocal(request) || !isSameOrigin(request)) return notFound();
  const asked = await fetch(supervisor, { method: "POST", body: String(process.pid) });
  return Response.json({ life: lifeOfProcess() }, { status: asked.ok ? 202 : 503, headers });
}

const headers = { "cache-control": "no-store" };

function lifeOfProcess(): string {
  return `${process.pid}-${Math.round(performance.timeOrigin)}`;
}

/** By address or as localhost, as the start script prints it: a name that was made to point here is refused. */
function isLocal(request: Request): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(request.headers.get("host") ?? "");
}

/** Browsers send both and no script can change them; whoever sends neither is no page. */
function isSameOrigin(request: Request): boolean {
  const origin = request.headers.get("origin");
  const isOwn = origin !== null && URL.canParse(origin) && new URL(origin).host === request.headers.get("host");
  return isOwn && request.headers.get("sec-fetch-site") === "same-origin";
}

function notFound(): Response {
  return Response.json({ error: { code: "not-found", message: "Not found." } }, { status: 404, headers });
}
