import { foldLog, textLog } from "./log.mjs";

const log = textLog(10_000);
for (let r = 0; r < 150; r++) {
  const c = process.cpuUsage();
  foldLog(log);
  const d = process.cpuUsage(c);
  if (r % 8 == 7) console.log(((d.user + d.system) / 10000).toFixed(3), "us/event");
}
