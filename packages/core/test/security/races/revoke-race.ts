import { raceShop } from "./race-shop.ts";
import type { RaceStores } from "./race-stores.ts";
import type { Ended } from "./run-race.ts";

/**
 * A remembered approval lets a second call go, which waits for the one before it to end. Then that one ends, and both
 * people take the approval back at both servers: the call began before it was taken back, or it asks again.
 */
export async function runRevokeRace(stores: RaceStores, count: number, seed: number): Promise<Ended> {
  const ask = { scopes: ["once", "thread"] } as const;
  const shop = await raceShop(stores, { ask, turns: [["refund"], ["hold", "refund"]] });
  const { threadId, step } = shop;
  const path = `/${threadId}/decisions`;
  const decisions = [{ callId: step.id, digest: step.digest, action: "approve", scope: "thread" }];
  const approved = await shop.send({ at: 0, user: "ann", path, body: { decisions, key: "first" } });
  if (approved.status !== 200) throw new Error(approved.text);
  const isHeld = async (): Promise<boolean> =>
    (await shop.steps()).map(({ status }) => status).join() === "succeeded,running,queued";
  await shop.until(isHeld);

  const revoke = async (index: number) => {
    if (index === seed % count) shop.release();
    const body = { grantId: `g-${step.id}`, key: `revoke ${index}` };
    return shop.send({ at: index, user: index % 4 < 2 ? "ann" : "bea", path: `/${threadId}/revoke`, body });
  };
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => revoke(index)));
  await shop.settled();
  const wrong: string[] = [];
  const taken = answers.filter(({ status }) => status === 200).length;
  const refused = answers.filter(
    ({ status, text }) => status === 404 && JSON.parse(text).error.code === "not-found",
  ).length;
  if (taken !== 1 || refused !== count - 1)
    wrong.push(`${taken} took it back, ${refused} of ${count} heard that it is gone`);

  const seqOf = async (type: string, callId?: string) =>
    (await shop.events()).find(
      (event) => event.type === type && (!callId || ("callId" in event && event.callId === callId)),
    )?.seq;
  const second = (await shop.steps())[2];
  const revokedAt = (await seqOf("grant-revoked")) ?? 0;
  const startedAt = await seqOf("call-started", second?.id);
  const began = startedAt !== undefined;
  if (began && startedAt > revokedAt) wrong.push(`it began at ${startedAt}, after its leave was taken at ${revokedAt}`);
  if (began !== (shop.ran.length === 2)) wrong.push(`it ran ${shop.ran.length} times`);
  if (!began && second) {
    if (second.status !== "waiting") wrong.push(`it does not ask: ${second.status}`);
    const again = [{ callId: second.id, digest: second.digest, action: "approve" }];
    await shop.send({ at: 1, user: "bea", path, body: { decisions: again, key: "again" } });
    await shop.settled();
    if (shop.ran.length !== 2) wrong.push(`asked again and approved, it ran ${shop.ran.length} times in all`);
  }
  return { wrong, outcome: began ? "began before" : "asked again", posts: count + 2 };
}
