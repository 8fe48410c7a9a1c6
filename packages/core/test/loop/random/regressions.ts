import { answer, calls, calmChild, calmPlan, calmTool } from "./calm.ts";
import type { Plan } from "./plan.ts";

/** What random runs brought to light, as small as it gets. Each broke an invariant once. */
export const regressions: Readonly<Record<string, Plan>> = {
  "what a model says behind its end is not heard, also in one piece with it": calmPlan({
    tools: [calmTool()],
    answers: [
      {
        parts: [
          { type: "end", reason: "stop", tokens: null },
          { type: "text", text: "And another thing." },
          { type: "call", id: "a", tool: 0, input: "{}" },
          { type: "end", reason: "tools", tokens: 1 },
        ],
        ...{ together: 50, obeys: true },
      },
    ],
  }),

  "a policy that changes an input to what it is has changed nothing": calmPlan({
    tools: [calmTool({ schema: "empty", approval: "modify" })],
    answers: [calls(0)],
  }),

  "a message that denies what waits denies nothing whose time is over": calmPlan(
    { tools: [calmTool({ approval: "ask-soon" })], answers: [calls(0)] },
    [{ after: 6_000, do: "send", text: "More", deny: true, when: "now" }],
  ),

  "to go on with the same key is the same write": calmPlan({ limits: { ...limits(), turns: 1 } }, [
    { after: 0, do: "continue", turns: null },
    { after: 60, do: "again", pick: 1 },
  ]),

  "to stop with the same key is the same write, also when another run goes on": calmPlan(
    { tools: [calmTool({ approval: "ask" })], answers: [calls(0), calls(0)] },
    [
      { after: 0, do: "stop", when: "now" },
      { after: 60, do: "send", text: "More", deny: false, when: "now" },
      { after: 60, do: "again", pick: 1 },
    ],
  ),

  "an approval that came in time is in the log in time, however long its rule thinks": calmPlan(
    {
      tools: [calmTool({ approval: "ask-soon" })],
      policies: [[{ tool: null, verdict: "slow-allow" }]],
      answers: [calls(0)],
    },
    [{ after: 7_900, do: "edit", pick: 0, input: { amount: 7 } }],
  ),

  "in a turn that is held, what was started is tried again while a tool asks": calmPlan({
    holdTurn: true,
    tools: [
      calmTool({}, { end: { type: "ask", times: 1, varies: true, schema: "none", url: false, expiresInMs: null } }),
      calmTool({ maxRetries: 1 }, { end: { type: "throw", value: "error" } }, {}),
    ],
    answers: [calls(0, 1)],
  }),

  "what a sub-agent used counts, also where the run is stopped above it": calmPlan(
    {
      tools: [calmChild({ tools: [calmTool({ approval: "ask" })], answers: [calls(0)] })],
      answers: [calls(0)],
    },
    [{ after: 60, do: "stop", when: "now" }],
  ),

  "a hook that outlasts a tool's time is not followed by the tool": calmPlan({
    hooks: { beforeModel: "none", afterModel: "none", beforeTool: "slow", afterTool: "none" },
    tools: [calmTool({ timeoutMs: 100 })],
    answers: [calls(0)],
  }),

  "a tool that ends while a sub-agent's rule thinks has ended": calmPlan({
    tools: [
      calmTool({}, { steps: [{ do: "wait", ms: 1_000 }] }),
      calmChild({ tools: [calmTool({ approval: "slow-allow" })], answers: [calls(0)] }),
    ],
    answers: [calls(0, 1)],
  }),

  "used up tokens end a run at once, also where a sub-agent has used up its calls": calmPlan({
    limits: { ...limits(), tokens: 10 },
    tools: [calmChild({ limits: { ...limits(), calls: 1 }, tools: [calmTool()], answers: [calls(0)] })],
    answers: [calls(0)],
  }),

  "one agent's answer is whole, although another's ends in the same moment": calmPlan(
    {
      tools: [
        calmChild({ answers: [answer({ type: "wait", ms: 20 }, { type: "text", text: "Done." })] }),
        calmChild({
          tools: [calmTool()],
          answers: [
            answer(
              { type: "wait", ms: 20 },
              { type: "call-start", id: "a", tool: 0 },
              { type: "call-input", id: "a", text: '{"amount":' },
              { type: "wait", ms: 300 },
              { type: "call-input", id: "a", text: "1}" },
              { type: "call", id: "a", tool: 0, input: '{"amount":1}' },
            ),
          ],
        }),
      ],
      answers: [calls(0, 1)],
    },
    [],
    [40],
  ),

  "a stop while a hook makes up its mind keeps the model from being asked": calmPlan(
    {
      hooks: { beforeModel: "slow", afterModel: "none", beforeTool: "none", afterTool: "none" },
      answers: [answer({ type: "text", text: "Hello" })],
    },
    [{ after: 60, do: "stop", when: "now" }],
  ),

  "time that is over before the model is asked ends the run, whatever its hook does": calmPlan(
    {
      limits: { ...limits(), timeMs: 3_000 },
      hooks: { beforeModel: "hangs", afterModel: "none", beforeTool: "none", afterTool: "none" },
    },
    [],
    [700],
  ),

  "time that is over before the model is asked keeps it from being asked": calmPlan(
    { limits: { ...limits(), timeMs: 3_000 } },
    [],
    [700],
  ),

  "what a person allowed one agent for good, another one with such a tool still has to ask": calmPlan(
    {
      tools: [
        calmTool({ approval: "ask" }),
        calmChild({ tools: [calmTool({ approval: "ask" })], answers: [calls(0)] }),
      ],
      answers: [calls(0), calls(1)],
    },
    [{ after: 0, do: "approve", pick: 0, scope: "run", all: false }],
  ),

  "a stop while a hook thinks leaves no timer behind": calmPlan(
    { hooks: { beforeModel: "hangs", afterModel: "none", beforeTool: "none", afterTool: "none" } },
    [{ after: 60, do: "stop", when: "writing" }],
  ),

  "a stop while a rule thinks leaves no timer behind": calmPlan(
    { tools: [calmTool({ approval: "hang" })], answers: [calls(0)] },
    [{ after: 60, do: "stop", when: "now" }],
  ),

  "after a stop no more schemas are asked": calmPlan(
    { tools: [calmTool({ schema: "hangs" })], answers: [calls(0, 0)] },
    [{ after: 60, do: "stop", when: "writing" }],
  ),

  "a stop while a hook thinks is the end of it: no schema is asked when the hook is done": calmPlan(
    {
      hooks: { beforeModel: "none", afterModel: "slow", beforeTool: "none", afterTool: "none" },
      tools: [calmTool({ schema: "hangs" })],
      answers: [calls(0)],
    },
    [{ after: 60, do: "stop", when: "writing" }],
  ),

  "a question of a tool that nobody answers runs out": calmPlan({
    tools: [
      calmTool({}, { end: { type: "ask", times: 1, varies: true, schema: "none", url: false, expiresInMs: 5_000 } }),
    ],
    answers: [calls(0)],
  }),

  "a browser that never answers runs out": calmPlan({
    tools: [
      {
        ...{ kind: "browser", schema: "any", approval: "allow", readOnly: true, destructive: false, summary: "none" },
        ...{ answer: "any", timeoutMs: 5_000 },
      },
    ],
    answers: [calls(0)],
  }),

  "an output nested 3,000 deep is cut off": calmPlan({
    tools: [
      calmTool({}, { end: { type: "return", value: "deep" } }),
      calmTool({}, { steps: [{ do: "partial", value: "deep" }] }),
    ],
    answers: [calls(0, 1)],
  }),

  "an approval for a number of calls is used up": calmPlan(
    { tools: [calmTool({ approval: "ask-key" })], answers: [calls(0), calls(0), calls(0), calls(0)] },
    [{ after: 0, do: "approve", pick: 0, scope: "run", all: false }],
  ),

  "an approval for a number of calls is used up, also within one answer": calmPlan(
    { tools: [calmTool({ approval: "ask-key" })], answers: [calls(0), calls(0, 0, 0)] },
    [{ after: 0, do: "approve", pick: 0, scope: "run", all: false }],
  ),

  "an approval for a while is over": calmPlan(
    {
      tools: [calmTool({ approval: "ask-key" })],
      answers: [calls(0), answer({ type: "text", text: "Done." }), calls(0)],
    },
    [
      { after: 0, do: "approve", pick: 0, scope: "thread", all: false },
      { after: 40_000, do: "send", text: "More", deny: false, when: "now" },
    ],
  ),

  "what was approved for the run asks again once its tool is denied": calmPlan(
    { tools: [calmTool({ approval: "ask", schema: "any" })], answers: [amounts(1, 2), amounts(1)] },
    [
      { after: 0, do: "approve", pick: 0, scope: "run", all: false },
      { after: 60, do: "deny", pick: 0, stop: null, reason: null, scope: null },
    ],
  ),

  "what was approved for good asks again once that is taken back": calmPlan(
    {
      tools: [calmTool({ approval: "ask-soon" })],
      answers: [calls(0), answer({ type: "text", text: "Done." }), calls(0)],
    },
    [
      { after: 0, do: "approve", pick: 0, scope: "thread", all: false },
      { after: 60, do: "revoke", pick: 0 },
      { after: 60, do: "send", text: "More", deny: false, when: "now" },
    ],
  ),

  "a run that ends after an attempt failed and its grant was taken back says that it may have had an effect": calmPlan(
    {
      tools: [calmTool({ approval: "ask", maxRetries: 1 }, { end: { type: "throw", value: "error" } })],
      answers: [calls(0, 0)],
    },
    [
      { after: 0, do: "approve", pick: 0, scope: "run", all: false },
      { after: 0, do: "revoke", pick: 0 },
      { after: 60, do: "stop", when: "now" },
    ],
  ),

  "a condition that answers with an empty text does not stop": calmPlan({
    stopWhen: ["text"],
    tools: [calmTool()],
    answers: [calls(0)],
  }),
};

/** Asks for a call of the first tool with each amount. */
function amounts(...list: readonly number[]): Plan["agent"]["answers"][number] {
  const parts = list.map((amount) => {
    return { type: "call" as const, id: `a${amount}`, tool: 0, input: JSON.stringify({ amount }) };
  });
  return answer(...parts);
}

function limits(): Plan["agent"]["limits"] {
  return { turns: 10, calls: 100, tokens: null, timeMs: 300_000, repeats: null, failures: null, depth: 3 };
}
