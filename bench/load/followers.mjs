// Browsers under load: begins runs, follows each of them over Server-Sent Events, two followers each, and checks that
// every one of them gets every event and every delta once and in order.
import { Agent, request } from "node:http";
import { spread } from "./table.mjs";

const FOLLOWERS = 2;

export async function followers({ ports, runs, deltas }, { say, on }) {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const samples = { fromModel: [], fromAppend: [], frames: 0, deltas: 0 };
  let isMeasuring = false;
  const note = (frame) => {
    if (!isMeasuring) return;
    const now = Date.now();
    samples.frames++;
    for (const { type, text, at = frame.at } of frame.events) {
      if (type !== "text-added") continue;
      samples.fromAppend.push(now - at);
      for (const [, , saidAt] of text.matchAll(/(\d+):(\d+) /g)) {
        samples.deltas++;
        samples.fromModel.push(now - Number(saidAt));
      }
    }
  };
  let cpu = process.cpuUsage();
  on("begin", () => {
    cpu = process.cpuUsage();
    isMeasuring = true;
    say("begin", null);
  });
  on("measure", () => {
    isMeasuring = false;
    const { user, system } = process.cpuUsage(cpu);
    const { fromModel, fromAppend, ...counts } = samples;
    const spreads = { fromModel: spread(fromModel), fromAppend: spread(fromAppend) };
    say("measure", { ...counts, ...spreads, cpuMs: (user + system) / 1_000 });
  });

  const portOf = (index) => ports[index % ports.length];
  const begin = async (index) => {
    const headers = { "x-user": `user-${index}` };
    // Spread over a second, as people are.
    await new Promise((resolve) => setTimeout(resolve, (index * 1_000) / runs));
    const body = JSON.stringify({ message: { text: "talk" }, key: `key-${index}` });
    const { threadId } = JSON.parse(await post({ agent, port: portOf(index), headers }, body));
    // The first on the server that drives, the next on the next.
    const each = Array.from({ length: FOLLOWERS }, (_, offset) =>
      follow({ agent, port: portOf(index + offset), headers, path: `/threads/${threadId}/events` }, deltas, note),
    );
    return Promise.all(each);
  };
  const ends = (await Promise.all(Array.from({ length: runs }, (_, index) => begin(index)))).flat();
  const sum = (name) => ends.reduce((total, end) => total + end[name], 0);
  say("result", { gaps: sum("gaps"), repeats: sum("repeats"), reconnects: sum("reconnects") });
}

function post({ port, agent, headers }, body) {
  return new Promise((resolve, reject) => {
    const options = { port, host: "127.0.0.1", agent, path: "/threads", method: "POST" };
    const all = { ...headers, "content-type": "application/json", "content-length": body.length };
    const outgoing = request({ ...options, headers: all }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk) => {
        text += chunk;
      });
      incoming.on("end", () => (incoming.statusCode === 201 ? resolve(text) : reject(new Error(text))));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Follows a run to its end, from connection to connection, by the number of the last event. */
async function follow(target, deltas, note) {
  const end = { gaps: 0, repeats: 0, reconnects: -1 };
  let [seq, next, isOver] = [0, 0, false];
  const onFrame = (frame) => {
    note(frame);
    if (frame.from > seq + 1) end.gaps++;
    if (frame.from <= seq) end.repeats++;
    seq = frame.to;
    for (const { type, text } of frame.events) {
      if (type === "run-ended") isOver = true;
      if (type !== "text-added") continue;
      for (const [, index] of text.matchAll(/(\d+):(\d+) /g)) {
        if (Number(index) > next) end.gaps++;
        if (Number(index) < next) end.repeats++;
        next = Number(index) + 1;
      }
    }
  };
  while (!isOver) {
    end.reconnects++;
    await listen({ ...target, headers: { ...target.headers, "last-event-id": String(seq) } }, onFrame);
  }
  if (next !== deltas) end.gaps++;
  return end;
}

function listen({ port, agent, path, headers }, onFrame) {
  return new Promise((resolve, reject) => {
    const outgoing = request({ port, host: "127.0.0.1", agent, path, headers }, (incoming) => {
      if (incoming.statusCode !== 200) reject(new Error(`${path} answered ${incoming.statusCode}.`));
      let rest = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk) => {
        const blocks = (rest + chunk).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) {
          if (block.startsWith("event:")) reject(new Error(`${path} said ${block}`));
          const data = block.split("\n").find((line) => line.startsWith("data: "));
          if (data) onFrame(JSON.parse(data.slice("data: ".length)));
        }
      });
      incoming.on("end", resolve);
      incoming.on("error", resolve);
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}
