import type { Json } from "toolrun";
import {
  call,
  calls,
  type ScriptedModelOptions,
  type ScriptedResult,
  type ScriptedTurn,
  say,
  scriptedModel,
} from "toolrun/testing";

/** What to try first; the answer to anything else names them. */
const suggestions = ["Refund order 1042", "Tidy up old orders", "Import 200 orders"] as const;

/** What a scenario sees: the person's words and the results of this run. */
interface Told {
  readonly lastUserText: string;
  readonly results: readonly ScriptedResult[];
}

/**
 * The shop assistant without a model: it reads the message, calls the same tools as a real model would and says
 * what their results say, also when a person changed or denied something.
 */
export function shopAssistant(options: ScriptedModelOptions = {}): ReturnType<typeof scriptedModel> {
  return scriptedModel((told) => (told.tools.length === 0 ? inShort(told) : answer(told)), options);
}

function answer(told: Told): ScriptedTurn {
  const text = told.lastUserText;
  if (/\brefund\b/i.test(text)) return refundScenario(told);
  if (/\b(tidy|archive|clean)\b/i.test(text)) return tidyScenario(told);
  if (/\bimport\b/i.test(text)) return importScenario(told);
  if (/\bstory\b/i.test(text)) return say(longStory());
  return say(
    `Hello. I can look things up on my own. Before I change anything, I ask you. Try “${suggestions.join("”, “")}”.`,
  );
}

/** The last answer of a run that reached a limit: no tools, only what is known. */
function inShort({ results }: Told): ScriptedTurn {
  const done = results.filter(({ status }) => status === "succeeded").length;
  return say(`I have to stop here. ${done} of ${results.length} steps worked; write to me again and I go on.`);
}

function refundScenario({ lastUserText, results }: Told): ScriptedTurn {
  const orderId = (/\border\s*#?\s*(\d+)/i.exec(lastUserText) ?? /\b(\d{4,})\b/.exec(lastUserText))?.[1];
  if (orderId === undefined) return say("Which order should I refund? Tell me its number, such as 1042.");
  const found = results.find(({ tool }) => tool === "findOrder");
  const refund = results.findLast(({ tool }) => tool === "refundOrder");
  if (refund) return say(afterRefund(refund, orderId));
  if (!found) return [say(`Let me look up order ${orderId}.`), call("findOrder", { orderId })];
  if (found.status !== "succeeded") return say(`I could not look up order ${orderId}: ${whyNot(found)}`);

  const total = numberAt(found.output, "total");
  const status = textAt(found.output, "status");
  if (status === "refunded") return say(`Order ${orderId} was already refunded. There is nothing left to do.`);
  const twice = numberAt(found.output, "payments") > 1;
  const amount = amountIn(lastUserText) ?? total;
  const reason = twice ? "charged twice" : "asked for by the customer";
  const what = twice
    ? `Order ${orderId} was charged twice. I would refund ${amount === total ? "one charge" : euro(amount)}.`
    : `Order ${orderId} of ${textAt(found.output, "customer") || "the customer"} is ${status || "known"}. I would refund ${euro(amount)}.`;
  return [say(what), call("refundOrder", { orderId, amount, reason })];
}

function afterRefund(refund: ScriptedResult, orderId: string): string {
  if (refund.status === "not-run") return `I did not refund it${becauseOf(refund)}`;
  if (refund.status === "failed") return `The refund of order ${orderId} did not go through: ${whyNot(refund)}`;
  const asked = numberAt(refund.input, "amount");
  const refunded = numberAt(refund.output, "refunded") || asked;
  const ran = refund.changedInput === undefined ? asked : numberAt(refund.changedInput, "amount");
  if (refund.changedBy === "person" && ran !== asked) {
    return `Done. You changed the amount from ${asked.toFixed(2)} to ${euro(ran)}, so I refunded ${euro(refunded)}.`;
  }
  const changed = refund.changedBy === "person" ? "with your changes " : "";
  return `Done. I refunded ${euro(refunded)} ${changed}on order ${orderId}.`;
}

function tidyScenario({ results }: Told): ScriptedTurn {
  const listed = results.find(({ tool }) => tool === "listOrders");
  const archived = results.filter(({ tool }) => tool === "archiveOrder");
  if (!listed) return [say("Let me see which orders are old."), call("listOrders", { olderThanDays: 730 })];
  if (listed.status !== "succeeded") return say(`I could not list the orders: ${whyNot(listed)}`);
  if (archived.length > 0) return say(archived.map(archiveLine).join(" "));
  const orders = listAt(listed.output, "orders");
  const ids = orders
    .map((order) => textAt(order, "orderId"))
    .filter(Boolean)
    .slice(0, 3);
  if (ids.length === 0) return say("No order is older than two years. There is nothing to tidy up.");
  return [
    say(`${orders.length} orders are older than two years. I would archive ${ids.join(", ")}; you decide about each.`),
    ...[calls(...ids.map((orderId) => call("archiveOrder", { orderId })))].flat(),
  ];
}

function archiveLine(result: ScriptedResult): string {
  const orderId = textAt(result.changedInput ?? result.input, "orderId");
  if (result.status === "succeeded") return `Order ${orderId} is archived.`;
  return result.status === "failed"
    ? `Order ${orderId} could not be archived: ${whyNot(result)}`
    : `Order ${orderId} stays${becauseOf(result)}`;
}

function importScenario({ lastUserText, results }: Told): ScriptedTurn {
  const slow = /\bslow\b/i.test(lastUserText);
  const count = Number(/\b(\d+)\b/.exec(lastUserText)?.[1] ?? (slow ? 500 : 200));
  const done = results.find(({ tool }) => tool === "importOrders");
  if (!done)
    return [say(`I would import ${count} orders. You can watch them come in.`), call("importOrders", { count })];
  if (done.status === "not-run") return say(`I did not import anything${becauseOf(done)}`);
  if (done.status === "failed") return say(`The import did not finish: ${whyNot(done)}`);
  return say(`Done. ${numberAt(done.output, "imported")} orders came in.`);
}

/** Why a call was not run, as the end of a sentence. */
function becauseOf({ reason, words }: ScriptedResult): string {
  if (reason === "interrupted") return ", as far as I know: the work was interrupted. Please check.";
  if (reason === "expired") return ": nobody answered in time.";
  if (reason === "stopped") return ": you stopped me.";
  const rule = reason === "blocked" ? "the shop's rules do not allow it" : "";
  const why = [rule, words].filter(Boolean).join(", ");
  return why ? `: ${sentence(why)}` : ".";
}

function whyNot(result: ScriptedResult): string {
  return sentence(result.error ?? result.words ?? "it was not run");
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function amountIn(text: string): number | undefined {
  const found = /(\d+(?:[.,]\d{1,2})?)\s*(?:€|eur\b|euros?\b)|€\s*(\d+(?:[.,]\d{1,2})?)/i.exec(text);
  const amount = found?.[1] ?? found?.[2];
  return amount === undefined ? undefined : Number(amount.replace(",", "."));
}

function euro(amount: number): string {
  return `${amount.toFixed(2)} EUR`;
}

function valueAt(value: Json | undefined, key: string): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, key)
    ? Object.entries(value).find(([name]) => name === key)?.[1]
    : undefined;
}

function numberAt(value: Json | undefined, key: string): number {
  const found = valueAt(value, key);
  return typeof found === "number" ? found : 0;
}

function textAt(value: Json | undefined, key: string): string {
  const found = valueAt(value, key);
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
}

function listAt(value: Json | undefined, key: string): readonly Json[] {
  const found = valueAt(value, key);
  return Array.isArray(found) ? found : [];
}

/** Long enough to be stopped, cut off and picked up again. */
function longStory(): string {
  const hours = ["six", "seven", "eight", "nine", "ten", "eleven", "noon", "one", "two", "three", "four", "five"];
  const days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
  const paragraphs = days.map((day) => {
    const lines = hours.map(
      (hour, index) => `At ${hour} order ${1001 + index} came in, was packed with care and left on time.`,
    );
    return `${day}. The shop opened early. ${lines.join(" ")} Then the lights went out.`;
  });
  return `A week in the shop.\n\n${paragraphs.join("\n\n")}\n\nThat was the week. Nothing was lost.`;
}
