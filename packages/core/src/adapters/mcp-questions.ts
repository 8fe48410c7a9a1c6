import type { AskPerson } from "../agent/ask.ts";
import { promptText } from "../agent/ask.ts";
import { cheapSchema, objectSchema } from "../agent/json-schema.ts";
import { schemaFromJson } from "../agent/schema.ts";
import type { ToolContext } from "../agent/tool-context.ts";
import { visibleText } from "../model/without-invisible.ts";
import type { Json } from "../protocol/values.ts";
import type { ElicitAnswer } from "./mcp-client.ts";

/** What a server asked during one attempt of a call. */
export interface McpQuestions {
  /** The first question that nobody has answered yet: what the tool returns as its own. */
  readonly open: AskPerson | undefined;
  answer(params: Readonly<Record<string, unknown>>): Promise<ElicitAnswer>;
  /** Pages that have to be visited before the call can be made at all; true when the person did that already. */
  hasVisited(pages: readonly unknown[]): Promise<boolean>;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * A server waits for an answer inside the call; a run that must survive a restart cannot. So a question is put to the
 * person and the server is told that it was cancelled; the answer runs the call again, and when the server asks the same
 * it gets what was answered.
 * @param onOpen - Called once, when there is something to ask: the call has no more to say.
 */
export function createQuestions(context: Pick<ToolContext, "answerTo" | "log">, onOpen: () => void): McpQuestions {
  let open: AskPerson | undefined;
  const asked = new Set<string>();

  const ask = (question: AskPerson): void => {
    if (open) return;
    open = question;
    onOpen();
  };

  return {
    get open() {
      return open;
    },
    async answer(params) {
      const question = await questionOf(params);
      if (!question) {
        context.log("The tool server asked a question that cannot be shown.");
        return { action: "cancel" };
      }
      // What is asked again within one call was not settled by its answer.
      const key = JSON.stringify([question.prompt, params.requestedSchema ?? null]);
      const given = asked.has(key) ? undefined : context.answerTo(question);
      asked.add(key);
      if (given !== undefined)
        return question.url === undefined ? { action: "accept", content: given } : { action: "accept" };
      ask(question);
      return { action: "cancel" };
    },
    async hasVisited(pages) {
      const all = await Promise.all(pages.map((page) => (isFields(page) ? questionOf(page) : undefined)));
      const links = all.filter((question) => question?.url !== undefined);
      const next = links.find((question) => question && context.answerTo(question) === undefined);
      if (next) ask(next);
      return links.length > 0 && !next;
    },
  };
}

/** Undefined for what cannot be put to a person: a form that is none, a page that is not on the web. */
async function questionOf({ mode, message, requestedSchema, url }: Fields): Promise<AskPerson | undefined> {
  const prompt = typeof message === "string" ? promptText(visibleText(message)) : "";
  if (mode === "url") return isWebPage(url) ? { prompt, url } : undefined;
  try {
    const form = cheapSchema(requestedSchema as Json); // came as JSON
    const schema = objectSchema(form);
    await schemaFromJson(form); // an answer is checked with it
    return { prompt, schema };
  } catch {
    return undefined;
  }
}

function isWebPage(url: unknown): url is string {
  if (typeof url !== "string" || url.length > 2_000) return false;
  try {
    return ["https:", "http:"].includes(new URL(url).protocol);
  } catch {
    return false;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}
