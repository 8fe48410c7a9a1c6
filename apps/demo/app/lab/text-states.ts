import type { ViewTurn } from "toolrun";
import { answered, type LabRun, runOf, said } from "./run-of.ts";
import { decided, lookedUp, noon, stepOf } from "./step-of.ts";

const rich = [
  "# Refund of order 1042",
  "The customer was charged **twice**, so one charge goes back. See [our policy](https://shop.example/policy) or https://shop.example/help.",
  "## What I found\n\n1. The order is paid.\n2. It was paid *again* a minute later.\n   - the same card\n   - the same amount",
  "| Payment | Amount | Status |\n| :------ | -----: | :----: |\n| p-7001 | 49.90 EUR | kept |\n| p-7002 | 49.90 EUR | ~~kept~~ returned |",
  '```json\n{ "order": 1042, "refund": 49.9, "note": "A line that is long enough to need a way to the side of its own, on a phone at the latest" }\n```',
  "> Refunds arrive within five days.",
  "- [x] money back\n- [ ] a note to Mia",
  "![the receipt](https://pictures.example/receipt-1042.png)",
  "Use `npm run refund` next time[^1].\n\n[^1]: It asks before it pays.",
].join("\n\n");

const asked = said("Refund order 1042, the customer was charged twice.");

/** The model's text in the shapes it comes in, and the time a run took. */
export const textStates: Readonly<Record<string, () => LabRun>> = {
  markdown: () => runOf([asked, answered(rich)]),
  "markdown-writing": () =>
    runOf([asked, answered(`${rich.slice(0, 900)}\n\nAnd this is **not yet clo`)], {
      status: "running",
      phase: "writing",
    }),
  timeline: () => timelineOf("ended"),
  "timeline-running": () => timelineOf("running"),
};

function timelineOf(status: "running" | "ended"): LabRun {
  const begin = status === "ended" ? noon : Date.now() - 45_000;
  const payments = stepOf("payments", {
    tool: "findPayments",
    title: "Find payments",
    summary: "1042",
    startedAt: begin + 3_600,
    endedAt: begin + 5_200,
  });
  const research = stepOf("research", {
    tool: "research",
    title: "Researcher",
    startedAt: begin + 1_450,
    endedAt: begin + 6_800,
    children: [payments],
  });
  const look = { ...lookedUp, startedAt: begin + 1_430, endedAt: begin + 1_750 };
  const refund = stepOf("refund", {
    summary: "49.90 EUR",
    status: status === "ended" ? "succeeded" : "running",
    askedAt: begin + 8_900,
    decision: { ...decided("approve"), at: begin + (status === "ended" ? 2_700_000 : 40_000) },
    startedAt: begin + (status === "ended" ? 2_700_050 : 40_050),
    ...(status === "ended" ? { endedAt: begin + 2_702_300 } : {}),
  });
  const usage = (inputTokens: number, outputTokens: number) => ({ inputTokens, outputTokens });
  const turn = { model: "scripted", status: "ended", attempt: 1 } as const;
  const turns: readonly ViewTurn[] = [
    { ...turn, turn: 1, startedAt: begin, endedAt: begin + 1_400, usage: usage(1_204, 88), steps: [look, research] },
    {
      ...{ ...turn, turn: 1, parentId: "research", startedAt: begin + 1_500, endedAt: begin + 3_500 },
      ...{ usage: usage(640, 31), steps: [payments] },
    },
    {
      ...{ ...turn, turn: 2, parentId: "research", startedAt: begin + 5_300, endedAt: begin + 6_700 },
      ...{ attempt: 2, usage: usage(702, 54), steps: [] },
    },
    { ...turn, turn: 2, startedAt: begin + 6_900, endedAt: begin + 8_800, usage: usage(1_530, 61), steps: [refund] },
    ...(status === "ended"
      ? [
          {
            ...turn,
            turn: 3,
            startedAt: begin + 2_702_400,
            endedAt: begin + 2_703_500,
            usage: usage(1_690, 40),
            steps: [],
          },
        ]
      : []),
  ];
  const given = status === "ended" ? {} : ({ status: "running", phase: "tools", outcome: undefined } as const);
  return runOf([asked, answered(look, research, "I would refund one charge.", refund)], { turns, ...given });
}
