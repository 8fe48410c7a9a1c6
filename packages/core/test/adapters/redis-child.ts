import { Redis as Ioredis } from "ioredis";
import { redisStore } from "../../src/redis.ts";

/** A process of its own that appends batches of three wherever the head is, until all have landed. */
const [, , url = "", prefix = "", id = "", name = "", count = ""] = process.argv;
const client = new Ioredis(url);
const store = redisStore(client, { prefix });
for (let index = 0, at = 0; index < Number(count); ) {
  const events = ["1", "~2", "3"].map((part) => ({ control: !part.startsWith("~"), data: `${name}.${index}.${part}` }));
  const result = await store.append(id, { at }, { batch: `${name}.${index}`, events });
  if (result.status !== "ok" && result.status !== "conflict") throw new Error(result.status);
  at = result.head;
  if (result.status === "ok") index++;
}
client.disconnect();
