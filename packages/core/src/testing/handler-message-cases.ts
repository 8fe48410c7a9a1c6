import type { Receipt } from "../server/threads.ts";
import type { ThreadPage } from "../store/thread-store.ts";
import type { HandlerCase } from "./handler-case.ts";
import { follow, get, play, post, refused, send, shows, snapshot, stream } from "./handler-case.ts";
import { HALF_CHARACTERS, SECRETS, STRANGE_TEXT } from "./handler-texts.ts";
import { check, eventually, same } from "./store-case.ts";

const DELTAS = 5_000;

/** Messages, what comes of them, and the threads they make. */
export const messageCases: readonly HandlerCase[] = [
  {
    name: "a message is run to its end, and the stream and the snapshot show the same",
    async run(context) {
      const { threadId, runId, seq } = await send(context, "say Hello there.");
      check(seq >= 1, "an answer says where its message landed");
      const thread = await follow(context, threadId);
      const [run] = thread.runs;
      same([run?.runId, run?.outcome, run?.text], [runId, "completed", "Hello there."], "the run");
      const shown = await snapshot(context, threadId);
      same(shown.thread, thread, "the snapshot");
      same(shown.access, { send: true, decide: true, remove: true }, "what its owner may do");
    },
  },
  {
    name: "a run goes to its end although nobody looks",
    async run(context) {
      const { threadId } = await send(context, "say Nobody saw it.");
      await eventually(context, async () => {
        const { body } = await get<ThreadPage>(context, "");
        same(body.rows.find(({ id }) => id === threadId)?.status, "ended", "its row in the list");
      });
      const { runs } = (await snapshot(context, threadId)).thread;
      same(runs[0]?.text, "Nobody saw it.", "what the model said");
    },
  },
  {
    name: `a text of ${DELTAS} pieces arrives whole and in order`,
    async run(context) {
      const [run] = (await play(context, `count ${DELTAS}`)).runs;
      const text = Array.from({ length: DELTAS }, (_, index) => `${index} `).join("");
      same(run?.turn?.parts, [{ type: "text", text }], "the pieces together");
      same(run?.text, text, "the text");
    },
  },
  {
    name: "text and values come back as they were written: half characters, control characters, any script",
    async run(context) {
      const thread = await play(context, "strange");
      const turn = thread.runs[0]?.turns[0];
      const text = STRANGE_TEXT + HALF_CHARACTERS.join("");
      same(turn?.parts[0], { type: "text", text }, "the model's text");
      same(turn?.calls[0]?.input, { text: STRANGE_TEXT }, "a call's input");
      same(turn?.calls[0]?.output, STRANGE_TEXT, "a tool's output");
      const said = await play(context, `say ${STRANGE_TEXT}`);
      same(said.messages[0]?.parts, [{ type: "text", text: `say ${STRANGE_TEXT}` }], "a person's message");
      same(said.runs[0]?.text, STRANGE_TEXT, "the same, said by the model");
    },
  },
  {
    name: "a message sent again with its key is one message; with another text it is refused",
    async run(context) {
      const key = context.newId();
      const body = { message: { text: "say Once." }, key };
      const [first, ...others] = await Promise.all([1, 2, 3].map(() => post<Receipt>(context, "", body)));
      same(first?.status, 201, "status of a message");
      for (const { status, body } of others) same([status, body], [201, first?.body], "the answer, once more");
      const thread = await follow(context, first?.body.threadId ?? "");
      same([thread.messages.length, thread.runs.length], [1, 1], "messages and runs");
      refused(await post(context, "", { message: { text: "say Twice." }, key }), 422, "key-reused");
    },
  },
  {
    name: "a second message begins a run over the same history",
    async run(context) {
      const first = await play(context, "say One.");
      const second = await play(context, "say Two.", first.id);
      same(
        second.runs.map(({ text }) => text),
        ["One.", "Two."],
        "answers",
      );
    },
  },
  {
    name: "a stop ends a run in the middle of its answer, and it can be continued",
    async run(context) {
      const { threadId, runId } = await send(context, "hang");
      const reader = await stream(context, threadId);
      await reader.until("the first words", ({ thread }) => JSON.stringify(thread.active).includes("Once"));
      const stopped = await post(context, `/${threadId}/stop`, { runId, key: context.newId() });
      same(stopped.status, 202, "status of a stop");
      await shows(context, threadId, "the run is stopped", ({ runs }) => runs[0]?.outcome === "stopped");
      const thread = await follow(context, threadId, reader.thread);
      same([thread.runs[0]?.outcome, thread.active.length], ["stopped", 0], "what the stream showed");
      const again = await post<{ readonly runId: string }>(context, `/${threadId}/continue`, {
        runId,
        key: context.newId(),
      });
      same(again.status, 202, "status of a continue");
      const next = { runId: again.body.runId, key: context.newId() };
      same((await post(context, `/${threadId}/stop`, next)).status, 202, "status of a stop of the next run");
      same(
        (await follow(context, threadId)).runs.map(({ outcome }) => outcome),
        ["stopped", "stopped"],
        "outcomes",
      );
    },
  },
  {
    name: "a model that fails ends the run with a code, and its words stay on the server",
    async run(context) {
      const { threadId } = await send(context, "fail");
      const reader = await stream(context, threadId);
      const thread = await reader.rest();
      same([thread.runs[0]?.outcome, thread.runs[0]?.code], ["failed", "model-failed"], "how it ended");
      const sent = JSON.stringify([reader.seen.map(({ frame }) => frame), await snapshot(context, threadId)]);
      for (const word of SECRETS.model.split(" at ")) {
        check(!sent.includes(word), `a provider's words leave the server: ${word}`);
      }
    },
  },
  {
    name: "threads are listed to their owner, renamed and removed",
    async run(context) {
      const { id } = await play(context, "say Kept.");
      const renamed = await post(context, `/${id}/title`, { title: "Ünïque ✓", key: context.newId() });
      same(renamed.status, 200, "status of a new title");
      await eventually(context, async () => {
        const { rows } = (await get<ThreadPage>(context, "")).body;
        same(
          rows.map(({ id, title, status }) => [id, title, status]),
          [[id, "Ünïque ✓", "ended"]],
          "the list",
        );
      });
      const stranger = context.as(context.newId());
      same((await get<ThreadPage>(stranger, "")).body.rows, [], "a stranger's list");
      same((await context.fetch(`/${id}`, { method: "DELETE" })).status, 204, "status of a removal");
      refused(await get(context, `/${id}`), 404, "not-found");
      refused(await get(context, `/${id}/events`), 404, "not-found");
      const body = { message: { text: "say Back." }, key: context.newId() };
      refused(await post(context, `/${id}/messages`, body), 404, "not-found");
      await eventually(context, async () => same((await get<ThreadPage>(context, "")).body.rows, [], "the list"));
    },
  },
];
