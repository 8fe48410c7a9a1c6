import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Model, ThreadStore, ToolRun, ToolRunOptions } from "../../src/server.ts";
import { createToolRun, defineAgent, memoryStore } from "../../src/server.ts";
import { BASE, jsonRequest } from "./endpoint.ts";

/** The work that a platform was asked to keep alive. */
interface Kept {
  readonly keep: (work: Promise<unknown>) => void;
  readonly count: number;
  readonly isDone: boolean;
  /** Resolves when all of it is done: then the platform may end the instance. */
  done(): Promise<void>;
}

function keptWork(): Kept {
  const all: Promise<unknown>[] = [];
  let done = 0;
  return {
    keep(work) {
      all.push(work);
      void work.then(() => done++);
    },
    get count() {
      return all.length;
    },
    get isDone() {
      return done === all.length;
    },
    async done() {
      await Promise.all(all);
    },
  };
}

/** A server whose model answers when it is let. */
function slowServer(options: Partial<ToolRunOptions>): { toolrun: ToolRun; store: ThreadStore; answer(): void } {
  let answer = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const model: Model = {
    async *stream() {
      await asked;
      yield { type: "text", text: "Done." };
      yield { type: "end", reason: "stop" };
    },
  };
  const store = memoryStore();
  const identify = async () => ({ id: "mia" });
  return { toolrun: createToolRun({ agent: defineAgent({ model }), store, identify, ...options }), store, answer };
}

async function post({ POST }: ToolRun): Promise<string> {
  const response = await POST(jsonRequest("", { message: { text: "Go" }, key: "k" }));
  expect(response.status).toBe(201);
  return ((await response.json()) as { threadId: string }).threadId;
}

async function outcomeOf({ toolrun }: { toolrun: ToolRun }, threadId: string): Promise<string | undefined> {
  return (await toolrun.read({ user: { id: "mia" }, threadId }))?.outcome;
}

/** A turn of the event loop and more: what could have ended has. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** The work of a POST is kept until the run has ended, and no longer. */
async function expectKept(server: ReturnType<typeof slowServer>, kept: Kept, send = post): Promise<void> {
  const threadId = await send(server.toolrun);
  await settle();
  expect(kept.count).toBe(1);
  expect(kept.isDone).toBe(false);
  expect(await outcomeOf(server, threadId)).toBeUndefined();
  server.answer();
  await kept.done();
  expect(await outcomeOf(server, threadId)).toBe("completed");
}

/** A platform that keeps each request's context where its runtime does. */
function platformContext(name: string): { run<Result>(kept: Kept, work: () => Promise<Result>): Promise<Result> } {
  const requests = new AsyncLocalStorage<Kept>();
  const get = (): unknown => {
    const kept = requests.getStore();
    return kept && { waitUntil: kept.keep };
  };
  vi.stubGlobal(Symbol.for(name) as never, { get }); // stubGlobal's type knows texts only
  return { run: (kept, work) => requests.run(kept, work) };
}

beforeEach(() => {
  for (const name of ["VERCEL", "NETLIFY", "AWS_LAMBDA_FUNCTION_NAME", "CF_PAGES"]) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

describe("the work of a POST is kept alive until the run ends", () => {
  it("by the waitUntil that was handed in", async () => {
    const kept = keptWork();
    await expectKept(slowServer({ waitUntil: kept.keep }), kept);
  });

  it("by Next's after, which calls back behind the response", async () => {
    const kept = keptWork();
    const tasks: (() => Promise<unknown>)[] = [];
    const after = (task: () => Promise<unknown>): void => void tasks.push(task);
    const server = slowServer({ waitUntil: (work) => after(() => work) });
    await expectKept(server, kept, async (toolrun) => {
      const threadId = await post(toolrun);
      for (const task of tasks) kept.keep(task());
      return threadId;
    });
  });

  it.each(["@next/request-context", "@vercel/request-context"])("on Vercel by the request's own %s", async (name) => {
    vi.stubEnv("VERCEL", "1");
    const context = platformContext(name);
    const [other, kept] = [keptWork(), keptWork()];
    const server = slowServer({});
    await context.run(other, async () => (await server.toolrun.GET(new Request(BASE))).text());
    await expectKept(server, kept, (toolrun) => context.run(kept, () => post(toolrun)));
    expect(other.count).toBe(0);
  });

  it("on Cloudflare by the context's waitUntil", async () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    const kept = keptWork();
    const context = { waitUntil: kept.keep };
    await expectKept(slowServer({ waitUntil: (work) => context.waitUntil(work) }), kept);
  });
});

describe("where nothing keeps the work of a POST alive", () => {
  it.each([
    ["Cloudflare", () => vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" })],
    ["Netlify", () => vi.stubEnv("NETLIFY", "true")],
    ["Lambda", () => vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "shop")],
  ])("it only writes, and the reader's request drives: %s", async (_name, stub) => {
    stub();
    const server = slowServer({});
    server.answer();
    const threadId = await post(server.toolrun);
    await settle();
    expect(await outcomeOf(server, threadId)).toBeUndefined();
    const stream = await server.toolrun.GET(new Request(`${BASE}/${threadId}/events`));
    expect(await stream.text()).toContain('"outcome":"completed"');
    expect(await outcomeOf(server, threadId)).toBe("completed");
  });
});

describe("the work of other requests is kept alive, too", () => {
  const starts: Readonly<Record<string, (toolrun: ToolRun, threadId: string) => Promise<unknown>>> = {
    "a reader's": ({ GET }, threadId) => GET(new Request(`${BASE}/${threadId}/events`)),
    "a sweep's": ({ sweep }) => sweep(),
  };
  it.each(Object.entries(starts))("%s, which takes a run up", async (_name, start) => {
    vi.stubEnv("NETLIFY", "true");
    const kept = keptWork();
    const store = memoryStore();
    const server = slowServer({ store, waitUntil: kept.keep });
    await expectKept(server, kept, async (toolrun) => {
      const threadId = await post(slowServer({ store }).toolrun); // it only writes
      await start(toolrun, threadId);
      return threadId;
    });
  });
});
