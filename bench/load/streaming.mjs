// Runs that stream at once, each with two followers: one database, one or more servers, one process of followers.
import { cpus } from "node:os";
import { startChild } from "./process.mjs";

const PER_SECOND = 20;
/** Runs have begun and followers have connected by then, and code is warm. */
const WARM_MS = 8_000;
/** What is left of the streams when memory is looked at, which pauses the server. */
const LEFT_MS = 4_000;

export async function streaming({ runs, servers, seconds, ...options }) {
  const deltas = (seconds + WARM_MS / 1_000 + LEFT_MS / 1_000) * PER_SECOND;
  const all = [];
  const start = (options) => {
    const child = startChild(options);
    all.push(child);
    return child;
  };
  try {
    const serving = Array.from({ length: servers }, () =>
      start({ role: "server", deltas, perSecond: PER_SECOND, ...options }),
    );
    const ports = await Promise.all(serving.map((server) => server.hears("port")));
    const idle = await Promise.all(serving.map((server) => server.ask("heap")));
    const following = start({ role: "followers", ports, runs, deltas, profile: options.profile });
    const result = following.hears("result");
    result.catch(() => {}); // seen below; it may fail before
    await wait(WARM_MS);
    await Promise.all([...serving, following].map((child) => child.ask("begin")));
    const begun = { at: performance.now(), busy: busyMs() };
    await wait(seconds * 1_000);
    const busy = busyMs() - begun.busy;
    const seen = await following.ask("measure");
    const span = (performance.now() - begun.at) / 1_000;
    const measured = await Promise.all(serving.map((server) => server.ask("measure")));
    const { gaps, repeats, reconnects } = await result;
    if (gaps + repeats > 0) throw new Error(`Followers had ${gaps} gaps and ${repeats} repeats.`);
    const rested = await Promise.all(serving.map((server) => server.ask("heap")));

    const sum = (list, name) => list.reduce((total, each) => total + each[name], 0);
    const share = (ms) => `${Math.round((ms / span / 1_000) * 100)} %`;
    const mega = (bytes) => `${(bytes / 1_048_576).toFixed(0)} MB`;
    return {
      "deltas/s, written by the models": seen.deltas / 2 / span,
      "events/s, appended": sum(measured, "events") / span,
      "batches/s, appended": sum(measured, "batches") / span,
      "frames/s, received by followers": seen.frames / span,
      "append, ms p50 · p99": measured.map(({ append }) => append).join(" / "),
      "model to follower, ms p50 · p99": seen.fromModel,
      "append to follower, ms p50 · p99": seen.fromAppend,
      "CPU of a server": share(sum(measured, "cpuMs") / servers),
      "CPU of the process of followers": share(seen.cpuMs),
      "the machine's cores, busy": `${(busy / span / 1_000).toFixed(1)} of ${cpus().length}`,
      "resident memory of a server": mega(sum(measured, "rss") / servers),
      "heap of a server, KiB a run": (sum(measured, "heap") - sum(idle, "heap")) / 1_024 / runs,
      "the same when all have ended": (sum(rested, "heap") - sum(idle, "heap")) / 1_024 / runs,
      "gaps · repeats · reconnects": `${gaps} · ${repeats} · ${reconnects}`,
    };
  } finally {
    await Promise.all(all.map((child) => child.end()));
  }
}

function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Time that the machine's cores have worked, for anybody. */
function busyMs() {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}
