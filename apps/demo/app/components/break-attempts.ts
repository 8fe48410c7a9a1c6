import type { UseToolRun } from "@toolrun/react";

type Run = UseToolRun;
/** A step that waits for a person's approval. */
export type OpenStep = Run["pending"][number];

/** What an attempt needs: the run as it is now, not as it was when the button was drawn. */
export interface AttemptContext {
  readonly endpoint: string;
  readonly now: () => Run;
}

const clicks = 20;

/** Twenty approvals of one step at once. The shop's own counter says how often it really ran. */
export async function clickTwentyTimes(step: OpenStep, { now }: AttemptContext): Promise<string> {
  const before = await countRuns(step);
  const results = await Promise.all(Array.from({ length: clicks }, () => now().approve(step)));
  const refused = results.find((result) => !result.ok);
  if (refused && !refused.ok) return `${clicks} clicks, no decision. ${refused.message}`;
  const settled = await waitFor(() => {
    const found = now().steps.find(({ id }) => id === step.id);
    return found && (found.status === "succeeded" || found.status === "failed") ? found : undefined;
  });
  if (!settled) return `${clicks} clicks, 1 decision. It is still running.`;
  const after = await countRuns(step);
  const runs = before === undefined || after === undefined ? settled.attempt : after - before;
  return `${clicks} clicks, 1 decision, ${runs} ${nounOf(step)}${runs === 1 ? "" : "s"}.`;
}

/** Posts an approval of this card with a bigger amount and a digest that is not the card's. */
export async function forgeApproval(step: OpenStep, { endpoint, now }: AttemptContext): Promise<string> {
  const before = await countRuns(step);
  const { threadId } = now();
  const response = await fetch(`${endpoint}/threads/${threadId}/decisions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      key: crypto.randomUUID(),
      decisions: [
        { callId: step.id, action: "approve", digest: [...step.digest].reverse().join(""), input: forge(step.input) },
      ],
    }),
  });
  const body: unknown = await response.json().catch(() => null);
  if (response.ok) return `${response.status} · Accepted. This must not happen: please tell us.`;
  const ran = before !== undefined && (await countRuns(step)) !== before;
  return `${response.status} · Refused. ${messageOf(body)} ${ran ? "But something ran: please tell us." : "Nothing ran."}`;
}

/** Every number a hundred times as big; without one, another order. */
function forge(input: unknown): unknown {
  if (typeof input !== "object" || input === null) return input;
  const entries = Object.entries(input);
  const hasNumber = entries.some(([, value]) => typeof value === "number");
  return Object.fromEntries(
    entries.map(([key, value]) => {
      if (typeof value === "number") return [key, value * 100];
      return [key, !hasNumber && key === "orderId" ? `${value}0` : value];
    }),
  );
}

/** How often the tool arrived at the shop for this order; unknown where the shop does not count by order. */
async function countRuns({ tool, input }: OpenStep): Promise<number | undefined> {
  if (typeof input !== "object" || input === null || !("orderId" in input)) return undefined;
  const query = new URLSearchParams({ tool, subject: String(input.orderId) });
  const response = await fetch(`/api/shop/counter?${query}`, { cache: "no-store" });
  if (!response.ok) return undefined;
  const body: unknown = await response.json();
  return typeof body === "object" && body !== null && "count" in body ? Number(body.count) : undefined;
}

function nounOf({ tool }: OpenStep): string {
  if (tool === "refundOrder") return "refund";
  return tool === "importOrders" ? "import" : "run";
}

async function waitFor<Found>(look: () => Found | undefined): Promise<Found | undefined> {
  for (let tries = 0; tries < 150; tries++) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return undefined;
}

function messageOf(body: unknown): string {
  const error = typeof body === "object" && body !== null && "error" in body ? body.error : undefined;
  return typeof error === "object" && error !== null && "message" in error ? String(error.message) : "";
}
