import { join } from "node:path";
import { call, type ScriptedTurn, say, scriptedModel } from "toolrun/testing";
import { scriptDelayMs } from "./script-delay.ts";

/** Where the file server may look and write, and what is there. */
export const filesFolder: string = join(process.cwd(), ".data/lab-files");
export const notePath: string = join(filesFolder, "note.txt");

/** A model for the tool servers: each message leads to one thing that such a server can do. */
export function toolServerModel(): ReturnType<typeof scriptedModel> {
  return scriptedModel(
    ({ lastUserText: text, results }): ScriptedTurn => {
      const last = results.at(-1);
      if (last?.status === "succeeded") return say(`The tool server says: ${wordsOf(last.output)}`);
      if (last) return say(`That was not to be: ${last.error ?? last.status}`);
      if (/add/i.test(text)) return call("every_get-sum", { a: 17, b: 25 });
      if (/ask/i.test(text)) return call("every_trigger-elicitation-request", {});
      if (/a while/i.test(text)) return call("every_trigger-long-running-operation", { duration: 3, steps: 6 });
      if (/write/i.test(text))
        return call("files_write_file", { path: join(filesFolder, "answer.txt"), content: "Refunded." });
      return call("files_read_text_file", { path: notePath });
    },
    { delayMs: scriptDelayMs() },
  );
}

function wordsOf(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}
