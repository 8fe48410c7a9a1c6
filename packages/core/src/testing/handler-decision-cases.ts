import { turnsOf } from "../protocol/thread.ts";
import type { HandlerCase } from "./handler-case.ts";
import { count, decide, follow, oneWaiting, play, post, refused, waiting } from "./handler-case.ts";
import { check, same } from "./store-case.ts";

const CLICKS = 20;
const MOST_DECISIONS = 100;

/** What people decide: docs/approvals.md. */
export const decisionCases: readonly HandlerCase[] = [
  {
    name: "a call waits until it is approved, then runs as it was shown",
    async run(context) {
      const order = context.newId();
      const asked = await play(context, `refund ${order}`);
      const call = oneWaiting(asked);
      same(call.input, { order, amount: 10 }, "the input that is shown");
      same(await count(context, `ledger ${order}`), [], "refunds before the approval");
      same((await decide(context, asked, call, { action: "approve" })).status, 200, "status of an approval");
      const ended = await follow(context, asked.id, asked);
      check(ended.runs[0]?.text.includes('"succeeded"') ?? false, `the model was told: ${ended.runs[0]?.text}`);
      same(await count(context, `ledger ${order}`), [10], "refunds after it");
    },
  },
  {
    name: "a call that is denied does not run, and the model learns why",
    async run(context) {
      const order = context.newId();
      const asked = await play(context, `refund ${order}`);
      const decision = { action: "deny", reason: "wrong order ✗" };
      same((await decide(context, asked, oneWaiting(asked), decision)).status, 200, "status of a denial");
      const [run] = (await follow(context, asked.id, asked)).runs;
      same([run?.turns[0]?.calls[0]?.status, run?.turns[0]?.calls[0]?.reason], ["not-run", "denied"], "the call");
      check(run?.text.includes("wrong order ✗") ?? false, `the model was told: ${run?.text}`);
      same(await count(context, `ledger ${order}`), [], "refunds");
    },
  },
  {
    name: "an input that a person changed is what runs; one that does not fit is refused",
    async run(context) {
      const order = context.newId();
      const asked = await play(context, `refund ${order}`);
      const call = oneWaiting(asked);
      const misfit = await decide(context, asked, call, { action: "approve", input: { order, amount: "all" } });
      check((refused(misfit, 400, "invalid-input").issues?.length ?? 0) > 0, "a misfit says where");
      const edited = await decide(context, asked, call, { action: "approve", input: { order, amount: 7 } });
      same(edited.status, 200, "status of an approval with another input");
      await follow(context, asked.id, asked);
      same(await count(context, `ledger ${order}`), [7], "refunds");
    },
  },
  {
    name: "a decision about what is no longer on screen is refused with the step as it is",
    async run(context) {
      const asked = await play(context, `refund ${context.newId()}`);
      const call = oneWaiting(asked);
      const stale = await decide(context, asked, { ...call, digest: "another" }, { action: "approve" });
      const { step } = refused(stale, 409, "stale");
      same((step as { readonly digest?: string } | undefined)?.digest, call.digest, "the digest of the real step");
      refused(await decide(context, asked, { ...call, callId: "unknown" }, { action: "approve" }), 404, "not-found");
    },
  },
  {
    name: `${CLICKS} approvals at once run the call once, and all but one learn who was first`,
    async run(context) {
      const order = context.newId();
      const asked = await play(context, `refund ${order}`);
      const call = oneWaiting(asked);
      const approve = (key?: string) => decide(context, asked, call, { action: "approve" }, key);
      const answers = await Promise.all(Array.from({ length: CLICKS }, () => approve()));
      const late = answers.filter(({ status }) => status !== 200);
      same(late.length, CLICKS - 1, "approvals that came late");
      for (const answer of late) refused(answer, 409, "decided");
      await follow(context, asked.id, asked);
      same(await count(context, `ledger ${order}`), [10], "refunds");
    },
  },
  {
    name: "a decision sent again with its key gets the same answer and is recorded once",
    async run(context) {
      const order = context.newId();
      const asked = await play(context, `refund ${order}`);
      const call = oneWaiting(asked);
      const key = context.newId();
      const first = await decide(context, asked, call, { action: "approve" }, key);
      same(first.status, 200, "status of an approval");
      await follow(context, asked.id, asked);
      same((await decide(context, asked, call, { action: "approve" }, key)).body, first.body, "the same once more");
      refused(await decide(context, asked, call, { action: "deny" }, key), 422, "key-reused");
      same(await count(context, `ledger ${order}`), [10], "refunds");
    },
  },
  {
    name: `${MOST_DECISIONS} decisions fit into one request, in any order; one more does not`,
    async run(context) {
      const orders = Array.from({ length: MOST_DECISIONS }, (_, index) => `${context.newId()}-${index}`);
      const asked = await play(context, `refund ${orders.join(" ")}`);
      const decisions = waiting(asked).map(({ callId, digest }, index) => ({
        callId,
        digest,
        action: index % 2 === 0 ? "approve" : "deny",
      }));
      same(decisions.length, MOST_DECISIONS, "calls that wait");
      const path = `/${asked.id}/decisions`;
      const tooMany = { decisions: [...decisions, decisions[0]], key: context.newId() };
      refused(await post(context, path, tooMany), 400, "bad-request");
      const answer = await post<{ readonly results: readonly { readonly ok: boolean }[] }>(context, path, {
        decisions: decisions.toReversed(),
        key: context.newId(),
      });
      same(answer.status, 200, "status of all decisions");
      same(
        answer.body.results.map(({ ok }) => ok),
        decisions.map(() => true),
        "results",
      );
      const [run] = (await follow(context, asked.id, asked)).runs;
      const statuses = run ? turnsOf(run)[0]?.calls.map(({ status }) => status) : [];
      same(
        statuses,
        decisions.map(({ action }) => (action === "approve" ? "succeeded" : "not-run")),
        "calls",
      );
    },
  },
  {
    name: "a question takes the answer that fits it, and no other",
    async run(context) {
      const asked = await play(context, "ask");
      const call = oneWaiting(asked);
      same(call.ask?.kind, "question", "what it waits for");
      const misfit = await decide(context, asked, call, { action: "answer", value: { colour: 7 } });
      refused(misfit, 400, "invalid-input");
      const answer = await decide(context, asked, call, { action: "answer", value: { colour: "grün" } });
      same(answer.status, 200, "status of an answer");
      const [run] = (await follow(context, asked.id, asked)).runs;
      same(run?.turns[0]?.calls[0]?.output, { colour: "grün" }, "the result");
    },
  },
  {
    name: "an approval for the whole conversation counts until it is taken back",
    async run(context) {
      const order = context.newId();
      const asked = await play(context, `refund ${order}`);
      const decision = { action: "approve", scope: "thread" };
      same((await decide(context, asked, oneWaiting(asked), decision)).status, 200, "status of an approval");
      const ended = await follow(context, asked.id, asked);
      const [grant] = ended.grants;
      same([grant?.tool, grant?.scope], ["refund", "thread"], "what is remembered");
      const revoke = { grantId: grant?.grantId, key: context.newId() };
      same((await post(context, `/${asked.id}/revoke`, revoke)).status, 200, "status of taking it back");
      same((await play(context, "say Thanks.", asked.id)).grants, [], "what is remembered then");
    },
  },
  {
    name: "a stop while a call waits refuses every later decision",
    async run(context) {
      const order = context.newId();
      const asked = await play(context, `refund ${order}`);
      const stop = { runId: asked.active[0]?.runId, key: context.newId() };
      same((await post(context, `/${asked.id}/stop`, stop)).status, 202, "status of a stop");
      refused(await decide(context, asked, oneWaiting(asked), { action: "approve" }), 410, "stopped");
      same((await follow(context, asked.id, asked)).runs[0]?.outcome, "stopped", "the outcome");
      same(await count(context, `ledger ${order}`), [], "refunds");
    },
  },
];
