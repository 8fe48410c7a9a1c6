import { describe, expect, it } from "vitest";
import { say } from "../../src/testing/scripted-model.ts";
import { clerk } from "../server/endpoint.ts";
import { errorOf, shop } from "../server/shop.ts";

const COUNT = 12;
const script = Array.from({ length: 2 * COUNT }, () => say("Hi"));

describe("many messages at once", () => {
  it("to one conversation whose run has ended are one run: none is too many", async () => {
    const { server } = shop({ script });
    const { threadId } = await server.send({ user: clerk, message: "Hi" });
    await server.clock.advance(0);
    const posts = Array.from({ length: COUNT }, (_, index) =>
      server.post(`/${threadId}/messages`, { message: { text: "And?" }, key: `k${index}` }),
    );
    const answers = await Promise.all(posts);
    expect(answers.map(({ status }) => status)).toEqual(posts.map(() => 202));
    await server.clock.advance(0);
    expect((await server.thread(threadId)).messages).toHaveLength(COUNT + 1);
    expect(server.engine.starting.size).toBe(0);
  });

  it("that begin a conversation each are too many beyond the limit", async () => {
    const { server } = shop({ script });
    const posts = Array.from({ length: COUNT }, (_, index) =>
      server.post("", { message: { text: "Hi" }, key: `k${index}` }),
    );
    const refused = (await Promise.all(posts)).filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(COUNT - 5);
    for (const answer of refused) expect(await errorOf(answer)).toMatchObject({ status: 429, code: "too-many" });
    expect(server.engine.starting.size).toBe(0);
  });
});
