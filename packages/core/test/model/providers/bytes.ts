import { readdirSync, readFileSync } from "node:fs";
import type { Compatible, Dialect } from "./dialects.ts";

const ROOT = new URL("../../fixtures/providers/", import.meta.url);

/** What a server answers: head, and the body as the pieces that are written one by one. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly pieces: readonly Uint8Array[];
  /** `end`: as the protocol has it. `cut`: the connection is reset. `hang`: nothing follows. */
  readonly ending: "end" | "cut" | "hang";
  /** What the piece of an index waits for. */
  readonly gate?: { readonly before: number; readonly open: Promise<void> } | undefined;
}

/** How the bytes of a fixture travel. */
export interface Travel {
  /** What ends a line. @defaultValue "\n" */
  readonly lineEnd?: "\n" | "\r\n" | "\r" | undefined;
  /** True: a byte order mark comes first. */
  readonly mark?: boolean | undefined;
  /** Byte offsets at which one piece ends and the next begins, or the size of all pieces. */
  readonly splits?: readonly number[] | number | undefined;
  /** How many bytes arrive at all. */
  readonly cutAt?: number | undefined;
  readonly ending?: Answer["ending"] | undefined;
  readonly gate?: Answer["gate"];
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Every fixture of a dialect or a server, as it is named. */
export function fixturesOf(speaks: Dialect | Compatible): readonly string[] {
  return readdirSync(new URL(`${speaks}/`, ROOT)).map((file) => file.replace(/\.\w+$/, ""));
}

/** A file of provider bytes as an answer. */
export function fixture(speaks: Dialect | Compatible, name: string, travel: Travel = {}): Answer {
  const folder = new URL(`${speaks}/`, ROOT);
  const file = readdirSync(folder).find((other) => other.startsWith(`${name}.`));
  if (!file) throw new Error(`There is no fixture ${speaks}/${name}.`);
  const type = file.endsWith(".json") ? "application/json" : "text/event-stream";
  return answerOf(readFileSync(new URL(file, folder), "utf8"), {
    ...travel,
    headers: { "content-type": type, ...travel.headers },
  });
}

export function answerOf(text: string, travel: Travel = {}): Answer {
  const { lineEnd = "\n", mark = false, splits = [], cutAt, ending = "end", status = 200, headers = {}, gate } = travel;
  const whole = new TextEncoder().encode((mark ? "\uFEFF" : "") + text.replaceAll("\n", lineEnd));
  const bytes = whole.subarray(0, cutAt);
  const at =
    typeof splits === "number"
      ? Array.from({ length: Math.floor((bytes.length - 1) / splits) }, (_, n) => (n + 1) * splits)
      : splits;
  const pieces = [0, ...at].map((from, index) => bytes.subarray(from, at[index]));
  return { status, headers, pieces, ending, gate };
}

/** Answers like a server, inside the process: what a client reads are exactly these pieces, one by one. */
export function fetchOf(...answers: readonly [Answer, ...Answer[]]): typeof fetch {
  let asked = 0;
  return async () => {
    const { status, headers, pieces, ending } = answers[Math.min(asked++, answers.length - 1)] as Answer; // within the list
    let next = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces[next++];
        if (piece) controller.enqueue(piece);
        else if (ending === "end") controller.close();
        else if (ending === "cut") controller.error(new TypeError("terminated"));
      },
    });
    return new Response(body, { status, headers });
  };
}
