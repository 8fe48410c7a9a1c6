import type { Replacement } from "../../build-mutant.ts";

/** A hole in a wall, and a word of what the ledger says of who came through. */
export interface Mutant extends Replacement {
  readonly hole: string;
  readonly seen: RegExp;
}

const decide = "server/decide.ts";
const handler = "server/handle-request.ts";
const anybody = "{ ...engine, authorize: () => true }";

export const mutants: readonly Mutant[] = [
  {
    hole: "the digest is not compared",
    file: decide,
    from: `if (rest.digest !== ask.digest)`,
    to: `if (false)`,
    seen: /another digest/,
  },
  {
    hole: "who decides is not asked",
    file: handler,
    from: `await openFor(engine, user, "decide", threadId);
    return decide(`,
    to: `return decide(`,
    seen: /decision-recorded: \w+ may not/,
  },
  {
    hole: "who may read may decide",
    file: handler,
    from: `await openFor(engine, user, "decide", threadId);`,
    to: `await openFor(engine, user, "read", threadId);`,
    seen: /decision-recorded: \w+ may not/,
  },
  {
    hole: "edited input is not judged again",
    file: decide,
    from: `if (verdict.verdict === "deny") {`,
    to: `if (false) {`,
    seen: /the policy denies/,
  },
  {
    hole: "what may be edited is not looked at",
    file: decide,
    from: `  checkEditable(call, checked.input);
`,
    to: ``,
    seen: /a change of/,
  },
  {
    hole: "some fields may be edited, so all may",
    file: decide,
    from: `if (editable === true) return;`,
    to: `if (editable !== false) return;`,
    seen: /a change of/,
  },
  {
    hole: "edited input is not parsed again",
    file: decide,
    from: `const checked = await checkInput(agent, call.tool, input);
  if (!checked.ok) {
    throw new ToolRunError("invalid-input", checked.error.message, { issues: checked.error.issues });
  }
  const again = await checkInput(agent, call.tool, checked.input);`,
    to: `const checked = { ...(await checkInput(agent, call.tool, call.input)), input, canonical: canonicalJson(input) };
  const again = checked;`,
    seen: /does not fit|another input|ran: with/,
  },
  {
    hole: "edited input is parsed, and what came is kept",
    file: decide,
    from: `return { input: checked.input, scopes`,
    to: `return { input, scopes`,
    seen: /another input|ran: with/,
  },
  {
    hole: "a scope that was not offered is taken",
    file: decide,
    from: `!(call.ask?.scopes ?? ["once"]).includes(decision.scope)`,
    to: `false`,
    seen: /scope (run|thread)/,
  },
  {
    hole: "a scope the edited input may not have is taken",
    file: decide,
    from: `if (decision.scope && edited?.scopes && !edited.scopes.includes(decision.scope)) {`,
    to: `if (false) {`,
    seen: /of the other input/,
  },
  {
    hole: "the time is not looked at",
    file: decide,
    from: `if (ask.expiresAt !== undefined && ask.expiresAt <= now) {`,
    to: `if (false) {`,
    seen: /its time is over/,
  },
  {
    hole: "a call is found in any conversation",
    file: handler,
    from: `return decide(engine, threadId, writerOf`,
    to: `for (const { id } of (await engine.store.list(undefined, undefined, { limit: 100 })).rows) {
      const read = await engine.store.read(id);
      if (read && "events" in read && read.events.some(({ data }) => data.includes(JSON.stringify(decisions[0].callId)))) threadId = id;
    }
    return decide(engine, threadId, writerOf`,
    seen: /another conversation|it says recorded/,
  },
  {
    hole: "a key is everybody's",
    file: "server/writer.ts",
    from: `known.key === key && known.userId === user.id`,
    to: `known.key === key`,
    seen: /it says/,
  },
  {
    hole: "a key is not held to its body",
    file: "server/writer.ts",
    from: `if (record && record.bodyHash !== writer.bodyHash)`,
    to: `if (false)`,
    seen: /another body|it says/,
  },
  {
    hole: "a cursor finds the conversation it belongs to",
    file: handler,
    from: `const open = await openFor(engine, user, "read", threadId);
  return followResponse(`,
    to: `let open = await openFor(engine, user, "read", threadId);
  for (const { id } of (await engine.store.list(undefined, undefined, { limit: 100 })).rows) {
    if (Number(cursor) <= open.thread.seq) break;
    open = await openFor(${anybody}, user, "read", id);
  }
  return followResponse(`,
    seen: /reads/,
  },
  {
    hole: "who reads a stream is not asked",
    file: handler,
    from: `const open = await openFor(engine, user, "read", threadId);
  return followResponse(`,
    to: `const open = await openFor(${anybody}, user, "read", threadId);
  return followResponse(`,
    seen: /reads/,
  },
  {
    hole: "who reads a snapshot is not asked",
    file: handler,
    from: `const open = await openFor(engine, user, "read", threadId);
  const access`,
    to: `const open = await openFor(${anybody}, user, "read", threadId);
  const access`,
    seen: /reads/,
  },
  {
    hole: "the list is everybody's",
    file: handler,
    from: `engine.store.list(user.id, cursor)`,
    to: `engine.store.list(undefined, cursor)`,
    seen: /reads/,
  },
  {
    hole: "the origin is not looked at",
    file: "server/guard-request.ts",
    from: `if (isForeign(request, allowedOrigins)) {`,
    to: `if (false) {`,
    seen: /may not|was removed/,
  },
  {
    hole: "a form may write",
    file: "server/guard-request.ts",
    from: `if (type !== "application/json") {`,
    to: `if (false) {`,
    seen: /may not/,
  },
  {
    hole: "who may read may remove",
    file: "server/verbs.ts",
    from: `await openFor(engine, user, "remove", threadId);`,
    to: `await openFor(engine, user, "read", threadId);`,
    seen: /was removed/,
  },
  {
    hole: "a message denies without leave",
    file: "server/verbs.ts",
    from: `if (threadId !== undefined && body.pending === "deny")`,
    to: `if (false)`,
    seen: /messages by sam .* may not/,
  },
  {
    hole: "a conversation of another is no secret in its error",
    file: "server/access.ts",
    from: `throw mayRead ? new ToolRunError("forbidden", "You may read this conversation, but not change it.") : unknown();`,
    to: `throw new ToolRunError("forbidden", \`This is \${open.thread.title}.\`);`,
    seen: /reads/,
  },
  {
    hole: "a refusal shows what only the server knows",
    file: "server/shown-step.ts",
    from: `const shown = projectThread(thread);`,
    to: `const shown = thread;`,
    seen: /reads server-only/,
  },
  {
    hole: "a refused decision is recorded all the same",
    file: decide,
    from: `results.push({ callId, ok: false, error });`,
    to: `results.push({ callId, ok: false, error });
        const found = findCall(current, callId);
        if (found && decision.action === "deny") drafts.push(...denyEvents(found.run, found.call, writer, { ...decision, via }));`,
    seen: /a refused request did it|nobody decided|nothing waits/,
  },
];
