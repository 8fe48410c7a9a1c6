import type { Json } from "toolrun";
import { call, calls, type ScriptedResult, type ScriptedTurn, say, scriptedModel } from "toolrun/testing";
import { evilText } from "./evil-text.ts";
import { scriptDelayMs } from "./script-delay.ts";

type Script = Exclude<Parameters<typeof scriptedModel>[0], readonly unknown[]>;
type Told = Parameters<Script>[0];
type Model = ReturnType<typeof scriptedModel>;

const PAGES = 13;

/** A model for the lab: each message leads to one thing that a run can meet. */
export function labModel(): Model {
  return scriptedModel((told) => (told.tools.length === 0 ? inShort(told) : answer(told)), {
    delayMs: scriptDelayMs(),
  });
}

function answer(told: Told): ScriptedTurn {
  const { lastUserText: text, results } = told;
  const last = results.at(-1);
  if (/rates/i.test(text)) {
    return last ? say(`Done after all: ${rateOf(last)}`) : call("fetchRates", { currency: "EUR" });
  }
  if (/supplier/i.test(text)) return call("callSupplier", { article: `A-${results.length + 1}` });
  if (/stock/i.test(text)) return [say("I look again."), call("checkStock", { article: "A-7" })];
  if (/catalogue/i.test(text)) return nextPage(told);
  if (/warehouse/i.test(text)) {
    return last ? say(`I could not see it all: ${last.error ?? ""}`) : call("scanWarehouse", { hall: "B" });
  }
  if (/colou?r/i.test(text)) {
    return last ? said(last, "it is") : call("pickColor", { question: "Which colour should the door have?" });
  }
  if (/gift/i.test(text)) {
    return last ? said(last, "you want") : call("askPerson", { question: "What should the gift be?" });
  }
  if (/bank/i.test(text)) return last ? said(last, "I imported") : call("importBank", { month: "May" });
  if (/where/i.test(text)) return whereScenario(told);
  if (/clear out/i.test(text)) return clearScenario(told);
  if (/mail/i.test(text)) return mailScenario(told);
  if (/give back/i.test(text)) return giveBackScenario(told);
  if (/courier/i.test(text)) {
    const seconds = Number(/\d+/.exec(text)?.[0] ?? 90);
    return last ? said(last, "the courier is") : call("bookCourier", { price: 12.5, seconds });
  }
  if (/research/i.test(text)) {
    const prompt = "Order 1042 was charged twice. Find out and put it right.";
    return last ? said(last, "the researcher says") : [say("I ask the researcher."), call("research", { prompt })];
  }
  if (/note/i.test(text)) return say(evilText);
  return say("Pick one of the scenarios on the left.");
}

/** The last answer of a run that reached a limit: no tools, only what is known. */
function inShort({ results }: Told): ScriptedTurn {
  const failed = results.filter(({ status }) => status === "failed");
  if (failed.length > 0) {
    return say(`I gave up after ${failed.length} tries. The last one failed with: ${failed.at(-1)?.error}`);
  }
  return say(`I have to stop here, after ${results.length} steps.`);
}

/** Pages of this run and of those before it: going on begins where the limit was. */
function nextPage({ messages }: Told): ScriptedTurn {
  const read = messages.filter(({ role }) => role === "tool").length;
  return read >= PAGES ? say(`That were all ${PAGES} pages.`) : call("readPage", { page: read + 1 });
}

function whereScenario({ lastUserText, results }: Told): ScriptedTurn {
  const [place] = results;
  if (place) return said(place, "you are in");
  const precise = /exact/i.test(lastUserText);
  const look = call("whereAmI", { precise });
  return /twice/i.test(lastUserText) ? calls(look, look) : look;
}

/** Three calls of one answer: two that move money, and one that cannot be undone. */
function clearScenario({ results }: Told): ScriptedTurn {
  if (results.length > 0) {
    const count = (status: ScriptedResult["status"]): number => results.filter((each) => each.status === status).length;
    return say(`${count("succeeded")} of 3 done, ${count("not-run")} not run.`);
  }
  return [
    say("Two customers get money back, and one order can go."),
    ...[
      calls(
        call("giveBack", { orderId: "1008", amount: 12 }),
        call("giveBack", { orderId: "1009", amount: 15.5 }),
        call("deleteOrder", { orderId: "1013" }),
      ),
    ].flat(),
  ];
}

/** Another text each time: what is remembered goes by whom it is for. */
function mailScenario({ messages, results }: Told): ScriptedTurn {
  const [mail] = results;
  if (mail) return said(mail, "it is done:");
  const letter = messages.filter(({ role }) => role === "tool").length + 1;
  return call("sendMail", { to: "mia@shop.example", text: `Letter ${letter}: your parcel is on its way.` });
}

/** Denied, it tries to get through with less. */
function giveBackScenario({ results }: Told): ScriptedTurn {
  const last = results.at(-1);
  if (last?.status === "succeeded") return said(last, "this went back:");
  if (results.length > 1) return say("Then I leave it.");
  const amount = results.length === 0 ? 49.9 : 20;
  return [say(last ? "Then less, perhaps?" : "I would give it back."), call("giveBack", { orderId: "1042", amount })];
}

/** The researcher's own model: looks, gives money back, and says what became of it. */
export function researcher(): Model {
  return scriptedModel(
    ({ results }) => {
      const back = results.find(({ tool }) => tool === "giveBack");
      if (back?.status === "succeeded") return say("It was charged twice; one charge was given back.");
      if (back) return say("It was charged twice, but nobody wanted it given back.");
      const orderId = "1042";
      return results.length === 0 ? call("findPayments", { orderId }) : call("giveBack", { orderId, amount: 49.9 });
    },
    { delayMs: scriptDelayMs() },
  );
}

function said(result: ScriptedResult, words: string): ScriptedTurn {
  if (result.status === "not-run") return say(`I did not get it${result.reason ? `: ${result.reason}` : ""}.`);
  if (result.status === "failed") return say(`It did not work: ${result.error}`);
  return say(`Thank you: ${words} ${textOf(result.output)}.`);
}

function rateOf({ output }: ScriptedResult): string {
  return `the rate is ${textOf(output)}.`;
}

function textOf(output: Json | undefined): string {
  return typeof output === "string" ? output.replace(/\.$/, "") : JSON.stringify(output);
}
