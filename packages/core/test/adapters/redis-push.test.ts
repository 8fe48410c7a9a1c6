import { describe, expect, test } from "vitest";
import type { Listener } from "../../src/adapters/redis-client.ts";
import { createPush } from "../../src/adapters/redis-push.ts";
import { quiet } from "../fake-clock.ts";

/** A listening connection whose answers wait for the test. */
function connection() {
  const sent: string[] = [];
  const answers: { resolve(): void; reject(error: Error): void }[] = [];
  let listener: Listener | undefined;
  const push = createPush((heard) => {
    sent.push("open");
    listener = heard;
    return {
      subscribe: (channel) => {
        sent.push(`subscribe ${channel}`);
        return new Promise<void>((resolve, reject) => answers.push({ resolve, reject }));
      },
      unsubscribe: async (channel) => sent.push(`unsubscribe ${channel}`),
      close: () => sent.push("close"),
    };
  });
  const looks: (number | undefined)[] = [];
  const answer = async (how: "resolve" | "reject" = "resolve"): Promise<void> => {
    const next = answers.shift();
    if (how === "resolve") next?.resolve();
    else next?.reject(new Error("NOPERM"));
    await quiet();
  };
  return {
    push,
    sent,
    looks,
    answer,
    look: (head?: number) => looks.push(head),
    hear: (channel: string, message: string) => listener?.onMessage(channel, message),
    state: (state: "ready" | "lost") => listener?.onState(state),
  };
}

describe("the connection that listens", () => {
  test("is opened by the first who listens, and believed when it has answered, with a look at what came before", async () => {
    const made = connection();
    const left = made.push.listen("a", made.look);
    made.push.listen("b", made.look);
    expect(made.sent).toEqual(["open", "subscribe a", "subscribe b"]);
    expect([left.isLive(), made.looks]).toEqual([false, []]);
    await made.answer();
    expect([left.isLive(), made.looks]).toEqual([true, [undefined]]);
    made.hear("a", "7");
    made.hear("nobody's", "8");
    expect(made.looks).toEqual([undefined, 7]);
  });

  test("is not believed while it is away; back again, it subscribes to everything and looks", async () => {
    const made = connection();
    const listening = made.push.listen("a", made.look);
    await made.answer();
    made.state("lost");
    expect(listening.isLive()).toBe(false);
    made.state("ready");
    await made.answer();
    expect([listening.isLive(), made.looks, made.sent.slice(1)]).toEqual([
      true,
      [undefined, undefined],
      ["subscribe a", "subscribe a"],
    ]);
  });

  test("is not believed where it may not subscribe", async () => {
    const made = connection();
    const listening = made.push.listen("a", made.look);
    await made.answer("reject");
    expect([listening.isLive(), made.looks]).toEqual([false, []]);
  });

  test("a channel left before it answered and joined again is subscribed again", async () => {
    const made = connection();
    made.push.listen("a", made.look).stop();
    const again = made.push.listen("a", made.look);
    expect(made.sent).toEqual(["open", "subscribe a", "unsubscribe a", "subscribe a"]);
    await made.answer();
    await made.answer();
    expect(again.isLive()).toBe(true);
  });

  test("that cannot be opened leaves followers to their looks", () => {
    const push = createPush(() => {
      throw new Error("no");
    });
    expect(push.listen("a", () => undefined).isLive()).toBe(false);
  });
});
