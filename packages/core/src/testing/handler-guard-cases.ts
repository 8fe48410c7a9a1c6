import type { HandlerCase, HandlerCaseContext } from "./handler-case.ts";
import { get, oneWaiting, play, post, readAnswer, refused, snapshot } from "./handler-case.ts";
import { SECRETS } from "./handler-texts.ts";
import { check, same } from "./store-case.ts";

const JSON_TYPE = { "content-type": "application/json" };
const MOST_BYTES = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

/** What is let in, and what is not: docs/protocol.md sections 1.1, 1.3, 1.5 and 1.6. */
export const guardCases: readonly HandlerCase[] = [
  {
    name: "nobody is told to sign in, and a stranger finds nothing",
    async run(context) {
      const { id } = await play(context, "refund a");
      const stranger = context.as(context.newId());
      for (const [who, status, code] of [
        [context.as(""), 401, "unauthenticated"],
        [stranger, 404, "not-found"],
      ] as const) {
        refused(await get(who, `/${id}`), status, code);
        refused(await get(who, `/${id}/events`), status, code);
        const body = { message: { text: "say Hi." }, key: context.newId() };
        refused(await post(who, `/${id}/messages`, body), status, code);
        refused(await readAnswer(who, await who.fetch(`/${id}`, { method: "DELETE" })), status, code);
      }
      refused(await get(stranger, `/${context.newId()}`), 404, "not-found");
      oneWaiting((await snapshot(context, id)).thread);
    },
  },
  {
    name: "a sign-in that fails is no reason to say why",
    async run(context) {
      const answer = await get(context.as("broken"), "");
      const { reference } = refused(answer, 503, "unavailable");
      check(!!reference, "the error names a reference");
      for (const word of SECRETS.signIn.split(" at ")) {
        check(!answer.text.includes(word), `the server's words leave it: ${word}`);
      }
    },
  },
  {
    name: "a page of another site may not write",
    async run(context) {
      const { id } = await play(context, "say Mine.");
      const { host, origin } = new URL(context.url);
      for (const headers of [
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
        { origin: "https://evil.example" },
        { origin: "null" },
        { origin: `https://${host}.evil.example` },
        { "sec-fetch-site": "cross-site", origin },
      ]) {
        for (const path of ["", `/${id}/messages`, `/${id}/title`, `/${id}/decisions`, `/${id}/stop`]) {
          refused(await post(context, path, "{}", headers), 403, "forbidden");
        }
        const removal = await context.fetch(`/${id}`, { method: "DELETE", headers });
        refused(await readAnswer(context, removal), 403, "forbidden");
      }
      same((await snapshot(context, id)).thread.title, "say Mine.", "the title");
    },
  },
  {
    name: "the app's own page may write, and so may a program",
    async run(context) {
      const { id } = await play(context, "say Mine.");
      const { origin } = new URL(context.url);
      for (const headers of [{ origin }, { origin, "sec-fetch-site": "same-origin" }, {}]) {
        const body = { title: "Ours", key: context.newId() };
        same((await post(context, `/${id}/title`, body, headers)).status, 200, `a write with ${Object.keys(headers)}`);
      }
    },
  },
  {
    name: "a body that is not JSON, or not what the endpoint takes, is refused",
    async run(context) {
      for (const text of ["", "{", "undefined", '{"key":', "[]", "null", "7", '{"message":{"text":7},"key":"k"}']) {
        refused(await post(context, "", text), 400, "bad-request");
      }
      const unknown = { message: { text: "say Hi." }, key: context.newId(), model: "another" };
      refused(await post(context, "", unknown), 400, "bad-request");
      refused(await post(context, "", `${"[".repeat(50_000)}${"]".repeat(50_000)}`), 400, "bad-request");
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
        refused(await post(context, "", unknown, { "content-type": type }), 415, "unsupported-media-type");
      }
      same((await get<{ readonly rows: readonly unknown[] }>(context, "")).body.rows, [], "threads");
    },
  },
  {
    name: "a body that is too large is refused, with its length and without",
    async run(context) {
      const tooLarge = JSON.stringify({ message: { text: "x".repeat(MOST_BYTES) }, key: context.newId() });
      refused(await post(context, "", tooLarge), 413, "too-large");
      refused(await readAnswer(context, await context.fetch("", inPieces(tooLarge))), 413, "too-large");
      const largest = JSON.stringify({ message: { text: "say Fits." }, key: context.newId() }).padEnd(MOST_BYTES);
      same((await post(context, "", largest)).status, 201, "status of the largest body");
      same((await context.fetch("", inPieces(largest.trim()))).status, 201, "status of a body in pieces");
    },
  },
  {
    name: "an address there is nothing at answers 404",
    async run(context) {
      const { id } = await play(context, "say Hi.");
      for (const path of ["/a.b", `/${"x".repeat(65)}`, "/%3Cscript%3E", `/${id}/other`, `/${id}/messages`]) {
        refused(await get(context, path), 404, "not-found");
      }
      for (const path of [`/${id}`, `/${id}/events`, `/${id}/decisions/b`, `/${id}/__proto__`]) {
        refused(await post(context, path, "{}"), 404, "not-found");
      }
      refused(await remove(context, ""), 404, "not-found");
      refused(await remove(context, `/${id}/messages`), 404, "not-found");
    },
  },
  {
    name: "a method the protocol does not have is refused, by the endpoint or by what it is mounted in",
    async run(context) {
      const { id } = await play(context, "say Hi.");
      for (const method of ["PUT", "PATCH"]) {
        const response = await context.fetch(`/${id}`, { method, headers: JSON_TYPE, body: "{}" });
        await response.text();
        check([404, 405].includes(response.status), `${method} answers ${response.status}`);
      }
      same((await snapshot(context, id)).thread.messages.length, 1, "messages");
    },
  },
];

async function remove(context: HandlerCaseContext, path: string): ReturnType<typeof readAnswer> {
  return readAnswer(context, await context.fetch(path, { method: "DELETE" }));
}

/** A POST whose length nobody knows beforehand. */
function inPieces(text: string): RequestInit {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + PIECE_BYTES));
      at += PIECE_BYTES;
    },
  });
  return { method: "POST", headers: JSON_TYPE, body, duplex: "half" } as RequestInit; // duplex: not in every lib
}
