// One server process of postgres-processes.test.ts: writes to one thread as fast as it can, and follows it. Says on
// standard output what the database acknowledged, and what it saw.
import pg from "pg";

const [bundle, url, id, name, count] = process.argv.slice(2);
const { postgresStore } = await import(bundle);
const pool = new pg.Pool({ connectionString: url, max: 4 });
const store = postgresStore(pool);
const control = new AbortController();
const say = (word) => process.stdout.write(`${word}\n`);

const seen = [];
const following = (async () => {
  for await (const change of store.follow(id, 0, control.signal)) {
    if (change.type !== "events") throw new Error(`The follower got ${change.type}.`);
    seen.push(...change.events.map(({ seq, data }) => `${seq}:${data}`));
    say(`seen ${seen.length}`);
  }
})();

let at = 0;
for (let index = 0; index < Number(count); ) {
  const batch = `${name}-${index}`;
  const events = [
    { control: true, data: `${batch}-first` },
    { control: false, data: `${batch}-second` },
  ];
  const result = await store.append(id, { at }, { batch, events });
  at = result.head;
  if (result.status !== "ok") continue;
  say(`written ${batch}`);
  index++;
}
say("done");
process.stdin.once("data", async (total) => {
  while (seen.length < Number(total)) await new Promise((resolve) => setTimeout(resolve, 5));
  control.abort();
  await following;
  say(`all ${JSON.stringify(seen)}`);
  await pool.end(); // the process ends by itself: nothing of the store keeps it
  process.stdin.destroy();
});
