import type { AnyStep } from "../protocol/step.ts";
import type { RegisteredAgent, ToolInput, ToolTypes, TypedAgent } from "../protocol/typed.ts";
import type { Json } from "../protocol/values.ts";
import { questionOf } from "./decide.ts";
import { nextDelay } from "./next-delay.ts";
import type { ActionResult } from "./post.ts";
import { isPassing } from "./post.ts";

/** What a browser tool gets beside its input. */
export interface BrowserToolContext {
  /** Aborts when nobody waits for the answer any more: skipped, stopped, expired, or too late. */
  readonly signal: AbortSignal;
  readonly step: AnyStep;
}

/** A function of this page that does what a `browserTool` of the server declares. */
export type BrowserFunction<Input = Json, Output = unknown> = (
  input: Input,
  context: BrowserToolContext,
) => Output | Promise<Output>;

/**
 * What a page does for an agent's browser tools, by name. Whatever a function returns is the answer, `false`, `0`,
 * `""` and `null` too; nothing (`undefined`) is `null`, which the tool's `outputSchema` has to allow. What it throws
 * is told to the model as the message alone.
 */
export type BrowserTools<Agent = RegisteredAgent> = string extends keyof ToolsOf<Agent>
  ? Readonly<Record<string, BrowserFunction | undefined>>
  : {
      readonly [Name in BrowserToolName<ToolsOf<Agent>>]?:
        | BrowserFunction<ToolInput<Agent, Name>, OutputOf<ToolsOf<Agent>[Name]>>
        | undefined;
    };

type ToolsOf<Agent> = Agent extends TypedAgent<infer Tools> ? Tools : never;
type OutputOf<Tool> = Tool extends { readonly "~types"?: infer Types extends ToolTypes | undefined }
  ? NonNullable<Types>["output"]
  : unknown;
type BrowserToolName<Tools> = {
  [Name in keyof Tools & string]: Tools[Name] extends { readonly kind: "browser" } ? Name : never;
}[keyof Tools & string];

/** Where a waiting browser tool is: in this tab, or claimed by another one of this browser. */
export type BrowserClaim = "here" | "elsewhere";

export type BrowserAnswer = { readonly value: unknown } | { readonly error: string };

/** What running browser tools needs of its client. */
export interface BrowserToolHost {
  /** The steps that wait, as freshly as this tab knows. */
  pending(): readonly AnyStep[];
  /** Reads the thread anew, certainly begun after now. */
  reread(): Promise<ActionResult>;
  /** Posts all of them in one request; one result each. */
  answer(given: readonly (readonly [AnyStep, BrowserAnswer])[]): readonly Promise<ActionResult>[];
  onChange(): void;
  /** Server's clock minus this browser's. */
  clockOffsetMs(): number;
}

export interface BrowserToolRunner {
  /** Adds functions, until the returned function is called; asked anew at each use. */
  offer(tools: () => BrowserTools<unknown> | undefined): () => void;
  /** Starts what is new, and aborts what nobody waits for any more. */
  look(): void;
  claims(): Readonly<Record<string, BrowserClaim>>;
  close(): void;
}

/** Answers that are ready within this time of each other travel together. */
const TOGETHER_MS = 100;
const LONGEST_MESSAGE = 500;
/** Before the server's own time is over, so that the model hears why. */
const MARGIN_MS = 1_000;
/** Where the server gave no time. */
const TIMEOUT_MS = 600_000;
/** A browser's timers end here. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Runs each question to this browser once: a lock named after thread and call keeps other tabs out until the answer
 * is recorded, and passes to the next tab when this one is closed. Where there are no locks (pages that are not
 * https) every tab that has the function runs it, and the first answer counts.
 */
export function createBrowserTools(host: BrowserToolHost): BrowserToolRunner {
  const offers = new Set<() => BrowserTools<unknown> | undefined>();
  const runs = new Map<string, AbortController>(); // by question
  let claims: Readonly<Record<string, BrowserClaim>> = {};
  const working = new Set<string>(); // questions whose answers may join the next request
  let waiting: Waiting[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let reading: Promise<ActionResult> | undefined;

  function find(name: string): BrowserFunction | undefined {
    for (const offer of [...offers].reverse()) {
      const tools = offer() ?? {};
      if (Object.hasOwn(tools, name)) return tools[name];
    }
    return undefined;
  }

  function claim(step: AnyStep, where?: BrowserClaim): void {
    const { [step.id]: _, ...others } = claims;
    claims = where ? { ...others, [step.id]: where } : others;
    host.onChange();
  }

  function look(): void {
    if (offers.size === 0 && runs.size === 0) return;
    const open = new Map(host.pending().map((step) => [questionOf(step), step]));
    for (const [question, run] of runs) if (!open.has(question)) run.abort();
    for (const [question, step] of open) {
      if (step.ask?.kind === "browser" && !runs.has(question) && find(step.tool)) void start(question, step);
    }
  }

  async function start(question: string, step: AnyStep): Promise<void> {
    const run = new AbortController();
    runs.set(question, run);
    working.add(question);
    claim(step, "here"); // from the first moment: that another tab has it is the exception
    try {
      await claimed(question, step, run.signal);
    } catch {
      // The lock was never given, because nobody waits any more.
    } finally {
      working.delete(question);
      claim(step);
    }
  }

  /** Answers while no other tab may; after another tab had its turn, too, if that one left without an answer. */
  async function claimed(question: string, step: AnyStep, signal: AbortSignal): Promise<void> {
    const { locks } = globalThis.navigator ?? {};
    const name = `toolrun ${step.threadId} ${step.id}`;
    const isFree = await locks
      ?.request(name, { ifAvailable: true }, async (lock) => {
        if (lock) await answer(question, step, signal, true);
        return lock !== null;
      })
      .catch(() => undefined); // no locks here: a page without an origin of its own
    if (isFree === undefined) return answer(question, step, signal, false);
    if (isFree) return;
    claim(step, "elsewhere");
    working.delete(question);
    await locks?.request(name, { signal }, () => {
      working.add(question);
      claim(step, "here");
      return answer(question, step, signal, true);
    });
  }

  async function answer(question: string, step: AnyStep, signal: AbortSignal, isShared: boolean): Promise<void> {
    // Another tab may have held the lock until the moment its answer was recorded.
    if (isShared) await repeat(signal, reread);
    const isOpen = host.pending().some((other) => questionOf(other) === question);
    const tool = find(step.tool);
    if (!tool || !isOpen || signal.aborted) return void runs.delete(question);
    const given = await perform(tool, step, signal);
    if (!given) return;
    const result = await repeat(signal, () => send(step, given));
    if (result.ok || !UNFIT.has(result.code) || "error" in given) return;
    // The server cannot take the value: the model hears why, and the run goes on.
    const issues = result.issues?.map(({ path, message }) => ` ${path.join(".")}: ${message}.`) ?? [];
    await repeat(signal, () => send(step, { error: capped([result.message, ...issues].join("")) }));
  }

  /** What the page's function came to, or nothing when nobody waits any more. */
  async function perform(tool: BrowserFunction, step: AnyStep, outer: AbortSignal): Promise<BrowserAnswer | undefined> {
    const now = Date.now() + host.clockOffsetMs();
    const within = (step.ask?.expiresAt ?? now + TIMEOUT_MS) - now - MARGIN_MS;
    const over = new AbortController();
    const { signal } = over;
    let end = (_how?: BrowserAnswer): void => {};
    const ended = new Promise<BrowserAnswer | undefined>((resolve) => {
      end = (how) => {
        over.abort();
        resolve(how);
      };
    });
    const giveUp = (): void => end();
    const deadline = setTimeout(() => end({ error: TOO_LATE }), Math.min(within, LONGEST_TIMER));
    outer.addEventListener("abort", giveUp);
    try {
      const value = (async () => ({ value: (await tool(step.input, { signal, step })) ?? null }))();
      return await Promise.race([value, ended]);
    } catch (error) {
      return outer.aborted ? undefined : { error: messageOf(error) };
    } finally {
      clearTimeout(deadline);
      outer.removeEventListener("abort", giveUp);
    }
  }

  /** Joins a reading that has not begun yet: the calls of one turn are claimed in the same moment. */
  function reread(): Promise<ActionResult> {
    reading ??= new Promise<void>((resolve) => setTimeout(resolve)).then(() => {
      reading = undefined;
      return host.reread();
    });
    return reading;
  }

  /** In one request with the other answers that are ready, and with those of a moment later where some are under way. */
  function send(step: AnyStep, given: BrowserAnswer): Promise<ActionResult> {
    return new Promise((resolve) => {
      waiting.push({ entry: [step, given], resolve });
      if (waiting.length >= working.size) flush();
      else timer ??= setTimeout(flush, TOGETHER_MS);
    });
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const batch = waiting;
    waiting = [];
    const results = host.answer(batch.map(({ entry }) => entry));
    for (const [index, { entry, resolve }] of batch.entries()) {
      // A value that cannot be sent spoils the whole request: each one then speaks for itself.
      const own = results[index]?.then((result) =>
        batch.length > 1 && !result.ok && UNFIT.has(result.code) ? (host.answer([entry])[0] ?? result) : result,
      );
      if (own) resolve(own);
    }
  }

  return {
    offer(tools) {
      offers.add(tools);
      look();
      return () => offers.delete(tools);
    },
    look,
    claims: () => claims,
    close() {
      for (const run of runs.values()) run.abort();
    },
  };
}

interface Waiting {
  readonly entry: readonly [AnyStep, BrowserAnswer];
  resolve(result: Promise<ActionResult>): void;
}

const TOO_LATE = "The browser did not answer in time.";
/** Refusals of a value that an error in its place does not meet. */
const UNFIT: ReadonlySet<string> = new Set(["invalid-input", "bad-request", "too-large"]);

/** Again, later and later, as long as nobody can say what became of it. */
async function repeat(signal: AbortSignal, act: () => Promise<ActionResult>): Promise<ActionResult> {
  for (let attempt = 1; ; attempt++) {
    const result = await act();
    if (result.ok || !isPassing(result) || signal.aborted) return result;
    await new Promise((resolve) => setTimeout(resolve, nextDelay(attempt, Math.random())));
  }
}

/** The message alone: a stack is nobody's business but the page's. */
function messageOf(thrown: unknown): string {
  let text: unknown;
  try {
    text = typeof thrown === "string" ? thrown : Object(thrown).message;
  } catch {
    // An error that cannot be read.
  }
  return typeof text === "string" && text.trim() !== "" ? capped(text) : "The browser could not do this.";
}

function capped(text: string): string {
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE - 1)}…` : text;
}
