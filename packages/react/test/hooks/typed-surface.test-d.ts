import type { AnyStep, Step, UseToolRun, UseToolRunOptions } from "../../src/index.ts";
import { useToolRun } from "../../src/index.ts";

/** An agent as `defineAgent` types it: two names are read of every tool. */
interface ShopAgent {
  readonly "~tools"?: {
    readonly refundOrder: Tool<{ orderId: string; amount: number }, { refunded: number }>;
    readonly findOrder: Tool<{ orderId: string }, { total: number; status: "paid" | "refunded" }>;
    readonly pickLocation: Tool<{ precise: boolean }, { latitude: number }> & { readonly kind: "browser" };
  };
}
interface Tool<Input, Output> {
  readonly kind: "server" | "browser";
  readonly "~types"?: { readonly input: Input; readonly output: Output } | undefined;
}

declare const run: UseToolRun<ShopAgent>;
declare const step: Step<ShopAgent>;
declare const any: AnyStep;

useToolRun<ShopAgent> satisfies (options?: UseToolRunOptions<ShopAgent>) => UseToolRun<ShopAgent>;
({ endpoint: "/api/x", threadId: "t1", onThread: () => {}, headers: { a: "b" } }) satisfies UseToolRunOptions;

// Whatever is pending can be decided, alone or together.
for (const each of run.pending) {
  void run.approve(each);
  void run.approve(each, { scope: "run" });
  void run.deny(each, "Not now");
  void run.deny(each, { reason: "no", stop: true });
  void run.retry(each);
  void run.skip(each);
  void run.extend(each);
  void run.answer(each, { value: 1 });
  void run.answer(each, { error: "denied by the person" });
}
void run.approve(run.pending, { scope: "once" });
void run.deny(run.pending);
void run.send("text", { pending: "deny" });
void run.send({ text: "see", files: [{ url: "data:,x", mediaType: "text/plain", name: "x.txt" }] });
void run.continue({ turns: 5 });
run.reset();

if (step.tool === "refundOrder" && step.status === "succeeded") {
  step.output.refunded satisfies number;
  step.input.amount satisfies number;
  // @ts-expect-error a step that does not wait cannot be approved
  void run.approve(step);
  // @ts-expect-error nor denied
  void run.deny(step, "late");
  // @ts-expect-error nor given more time
  void run.extend(step);
}
if (step.tool === "refundOrder" && step.status === "waiting") {
  void run.approve(step, { input: { orderId: "1042", amount: 20 } });
  // @ts-expect-error wrong edited input
  void run.approve(step, { input: { orderId: "1042", amount: "20" } });
  // @ts-expect-error an edit replaces the whole input
  void run.approve(step, { input: { amount: 20 } });
  // @ts-expect-error one input does not fit many steps
  void run.approve([step], { input: { orderId: "1042", amount: 20 } });
  // @ts-expect-error no output before success
  step.output.refunded satisfies number;
}
// @ts-expect-error no such tool
if (step.tool === "refundOrders") void 0;
// @ts-expect-error no such scope
void run.approve(step, { scope: "always" });
// @ts-expect-error an answer is a value or an error
void run.answer(step, "yes");
// @ts-expect-error no such status
if (run.status === "paused") void 0;
// @ts-expect-error actions take the step that was rendered, not an id
void run.approve(step.id);

// Without a known agent every step is AnyStep, and everything is checked on the server.
declare const untyped: UseToolRun;
void untyped.approve(any, { input: { anything: 1 } });
untyped.steps[0]?.output satisfies unknown;

// Browser tools are typed both ways, and no other kind is taken.
const { tools }: UseToolRunOptions<ShopAgent> = {
  tools: {
    pickLocation: async ({ precise }, { signal, step: asked }) => {
      precise satisfies boolean;
      signal satisfies AbortSignal;
      asked.id satisfies string;
      return { latitude: 1 };
    },
  },
};
type Given = UseToolRunOptions<ShopAgent>;
({ tools }) satisfies Given;
// @ts-expect-error wrong output
({ tools: { pickLocation: () => ({ longitude: 1 }) } }) satisfies Given;
// @ts-expect-error a tool of the server
({ tools: { refundOrder: () => ({ refunded: 1 }) } }) satisfies Given;
// @ts-expect-error no such tool
({ tools: { pickPlace: () => ({ latitude: 1 }) } }) satisfies Given;
({ tools: { anything: (input: unknown) => input } }) satisfies UseToolRunOptions;
