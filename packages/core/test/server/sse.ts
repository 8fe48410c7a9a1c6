import type { Frame } from "../../src/protocol/frame.ts";
import { parseFrame, reduceFrame } from "../../src/protocol/frame.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";

/** One block of an event stream. */
export interface Block {
  readonly comment?: string;
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
}

export function parseBlocks(text: string): readonly Block[] {
  return text
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) =>
      Object.fromEntries(
        block.split("\n").map((line) => {
          const at = line.indexOf(":");
          return [at === 0 ? "comment" : line.slice(0, at), line.slice(at + 1).trim()];
        }),
      ),
    );
}

/** The frames of a stream in order. */
export function framesOf(blocks: readonly Block[]): readonly Frame[] {
  return blocks.flatMap(({ event, data }) => {
    if (data === undefined || event !== undefined) return [];
    const frame = parseFrame(data);
    if (!frame) throw new Error(`no frame: ${data}`);
    return [frame];
  });
}

/** Folds a stream as a browser does. */
export function foldBlocks(blocks: readonly Block[], from: Thread): Thread {
  return blocks.reduce((thread, { event, data }) => {
    if (data === undefined) return thread;
    if (event === "reset") return JSON.parse(data).thread;
    const frame = parseFrame(data);
    const next = frame && reduceFrame(thread, frame);
    if (!next) throw new Error(`a gap after ${thread.seq}: ${data.slice(0, 100)}`);
    return next;
  }, from);
}

export function foldStream(text: string, threadId: string): Thread {
  return foldBlocks(parseBlocks(text), emptyThread(threadId));
}

/** Reads a response piece by piece. */
export interface StreamReader {
  /** The next piece, or undefined at the end. */
  next(): Promise<string | undefined>;
  /** Everything until the end. */
  rest(): Promise<string>;
  /** What has arrived, read on in the background. */
  readonly text: string;
  readonly done: boolean;
  /** Reads on in the background. */
  flow(): void;
  cancel(): Promise<void>;
}

export function readStream(response: Response): StreamReader {
  const reader = response.body?.getReader();
  if (!reader) throw new Error("no body");
  const decoder = new TextDecoder();
  let text = "";
  let done = false;
  const next = async (): Promise<string | undefined> => {
    const result = await reader.read();
    if (result.done) {
      done = true;
      return undefined;
    }
    const piece = decoder.decode(result.value);
    text += piece;
    return piece;
  };
  const rest = async (): Promise<string> => {
    while ((await next()) !== undefined);
    return text;
  };
  return {
    next,
    rest,
    get text() {
      return text;
    },
    get done() {
      return done;
    },
    flow: () => void rest(),
    cancel: () => reader.cancel(),
  };
}
