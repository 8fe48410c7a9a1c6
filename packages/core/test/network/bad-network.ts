import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { request as ask, createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../cluster/random.ts";

/** What can go wrong with one request. */
export type Fault =
  | "late" // overtaken by later ones
  | "lost request"
  | "lost reply"
  | "page before" // something between answers, and the server never hears of it
  | "page after" // … although the server did what was asked
  | "reset"
  | "broken off"
  | "ended early"
  | "frozen"
  | "corrupted"
  | "dropped"
  | "foreign"
  | "handover"
  | "repeated"
  | "beyond";

const ANY: readonly [Fault, ...Fault[]] = [
  ...(["late", "late", "lost request", "lost reply", "page before", "page after"] as const),
  ...(["reset", "broken off", "ended early", "frozen", "corrupted"] as const),
];
const OF_A_READING: readonly [Fault, ...Fault[]] = [...ANY, "repeated"];
const OF_A_STREAM: readonly [Fault, ...Fault[]] = [
  ...OF_A_READING,
  ...(["reset", "broken off", "ended early", "corrupted", "dropped", "foreign", "handover", "beyond"] as const),
];

/** A network between one person's tabs and the server. */
export interface BadNetwork {
  readonly url: string;
  /** Requests of the tabs that are neither answered to the end nor given up. */
  readonly underWay: number;
  /** Streams that were asked for while nothing got through at all. */
  readonly triedInOutage: number;
  /** How often each fault happened. */
  readonly faults: Partial<Record<Fault | "outage", number>>;
  /** From now on nothing gets through. */
  outage(on: boolean): void;
  close(): Promise<void>;
}

/** `budget`: so many requests go wrong, and none after them. */
export async function startBadNetwork(port: number, random: Random, budget: number): Promise<BadNetwork> {
  const sockets = new Set<Socket>();
  const earlier = new Map<string, Buffer[]>();
  const faults: Partial<Record<Fault | "outage", number>> = {};
  let left = budget;
  let isOut = false;
  let triedInOutage = 0;
  let underWay = 0;

  const faultOf = (method: string, isStream: boolean): Fault | undefined => {
    if (left <= 0 || random.next() < 0.35) return undefined;
    left--;
    return random.one(isStream ? OF_A_STREAM : method === "GET" ? OF_A_READING : ANY);
  };
  const count = (fault: Fault | "outage"): void => {
    faults[fault] = (faults[fault] ?? 0) + 1;
  };

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = "GET", url = "", headers } = incoming;
    const isStream = url.includes("/events");
    const body = await buffer(incoming);
    outgoing.setHeader("connection", "close"); // one connection for each request: a fault of one is no fault of another
    if (isOut) {
      if (isStream) triedInOutage++;
      return random.next() < 0.5 ? page(outgoing, random) : cut(outgoing);
    }
    const fault = faultOf(method, isStream);
    await sleep(fault === "late" ? random.between(20, 500) : random.between(0, 3));
    const of = `${method} ${url.split("?")[0]}`;
    const known = earlier.get(of) ?? [];
    earlier.set(of, known);
    if (fault === "late" || fault === "lost request" || fault === "page before" || fault === "page after") count(fault);
    if (fault === "lost request") return cut(outgoing);
    if (fault === "page before") return page(outgoing, random);
    if (fault === "repeated" && known.length > 0) {
      count(fault);
      outgoing.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
      return void outgoing.end(random.one(known as [Buffer, ...Buffer[]]));
    }
    const path = fault === "beyond" ? url.replace(/after=\d+/, "after=900000000") : url;
    if (path !== url) count("beyond");
    const onward = ask({ host: "127.0.0.1", port, method, path, headers, agent: false }, (answer) => {
      if (fault === "page after") page(outgoing, random);
      else void passOn(answer, outgoing, { fault, isStream, known, random, count }).catch(() => outgoing.destroy());
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    onward.end(body);
  }

  const server = createServer((incoming, outgoing) => {
    underWay++;
    outgoing.on("close", () => underWay--);
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens on a port
    get underWay() {
      return underWay;
    },
    get triedInOutage() {
      return triedInOutage;
    },
    faults,
    outage(on) {
      isOut = on;
      if (!on) return;
      count("outage");
      for (const socket of sockets) socket.resetAndDestroy();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Passing {
  readonly fault: Fault | undefined;
  readonly isStream: boolean;
  /** Bodies of earlier answers to the same question. */
  readonly known: Buffer[];
  readonly random: Random;
  readonly count: (fault: Fault) => void;
}

const FOREIGN = [
  ": a comment ü\r\n\r\n",
  "event: of-a-newer-server\ndata: 1\n\n",
  "data: {}\nevent: note\n\n",
  "\uFEFFretry: 1\nx: y\n\n",
  'data: {"from":0,"to":0,"at":1,"events":[]}\n\n',
] as const;

/** Passes an answer on in pieces, until its fault happens. */
async function passOn(answer: IncomingMessage, outgoing: ServerResponse, passing: Passing): Promise<void> {
  const { fault, isStream, known, random, count } = passing;
  const length = Number(answer.headers["content-length"] ?? 400);
  const at = random.between(0, isStream ? random.one([60, 600, 4_000]) : length - 1);
  const pieceLength = random.one([1, 1, 7, 64, 100_000, 100_000]);
  const { "content-length": _, connection: __, ...headers } = answer.headers; // chunked: an early end is a clean one
  if (fault === "lost reply") {
    count(fault);
    return cut(outgoing);
  }
  outgoing.writeHead(answer.statusCode ?? 502, headers).flushHeaders();
  const whole: Buffer[] = [];
  let position = 0;
  let isDone = fault === undefined || fault === "late" || fault === "repeated" || fault === "beyond";
  for await (const data of answer as AsyncIterable<Buffer>) {
    whole.push(data);
    let chunk = data;
    if (!isDone && position + chunk.length > at && fault) {
      isDone = true;
      count(fault);
      const head = chunk.subarray(0, at - position);
      if (fault === "dropped") continue;
      if (fault === "foreign" || fault === "handover") {
        outgoing.write(fault === "handover" ? "event: handover\ndata: {}\n\n" : random.one(FOREIGN));
      } else if (fault === "corrupted") {
        chunk = Buffer.from(chunk);
        chunk[at - position] = random.one([0x01, 0xff]); // neither is ever in what we send
      } else {
        await writeIn(outgoing, head, pieceLength);
        if (fault === "ended early") return void outgoing.end();
        if (fault === "broken off") return void outgoing.socket?.end();
        if (fault === "reset") return cut(outgoing);
        return; // frozen: open, and silent
      }
    }
    position += chunk.length;
    await writeIn(outgoing, chunk, pieceLength);
  }
  const body = Buffer.concat(whole);
  // A reset is the newest word of its server: one that comes again later would be another fault than this one.
  if (answer.statusCode === 200 && !body.includes("event: reset")) known.push(body);
  outgoing.end();
}

async function writeIn(outgoing: ServerResponse, bytes: Buffer, pieceLength: number): Promise<void> {
  for (let from = 0, pieces = 0; from < bytes.length; from += pieceLength, pieces++) {
    outgoing.write(bytes.subarray(from, from + pieceLength));
    if (pieceLength > 1 && pieceLength < bytes.length && pieces < 50) await sleep(1); // then they may travel together
  }
}

/** The connection is gone, with all that was not read yet. */
function cut(outgoing: ServerResponse): void {
  outgoing.socket?.resetAndDestroy();
}

/** Something between the two answers by itself. */
function page(outgoing: ServerResponse, random: Random): void {
  const status = random.one([502, 503, 504, 500, 200]);
  outgoing.writeHead(status, { "content-type": "text/html" });
  outgoing.end(random.one(["<html><h1>Bad gateway</h1></html>", ""]));
}
