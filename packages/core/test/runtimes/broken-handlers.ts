/** An endpoint, or what stands before it. */
export type Handler = (request: Request) => Promise<Response>;

/** Something that breaks one rule between a page and the endpoint. */
export interface BrokenHandler {
  readonly rule: string;
  /** Words of the names of the cases that must see it, and of what each says then. */
  readonly seenBy: Readonly<Record<string, string>>;
  plant(handler: Handler): Handler;
}

/** Changes requests to a path before they arrive. */
function asking(path: RegExp, change: (request: Request) => Request | Response | Promise<Request | Response>) {
  return (handler: Handler): Handler =>
    async (request) => {
      if (!path.test(pathOf(request))) return handler(request);
      const changed = await change(request);
      return changed instanceof Response ? changed : handler(changed);
    };
}

/** Changes answers of a path before they leave. */
function answering(path: RegExp, change: (response: Response, request: Request) => Response | Promise<Response>) {
  return (handler: Handler): Handler =>
    async (request) => {
      const response = await handler(request);
      return path.test(pathOf(request)) ? change(response, request) : response;
    };
}

const pathOf = ({ method, url }: Request): string => `${method} ${url.slice(url.indexOf("/threads"))}`;

/** The method and headers stay. */
async function withBody(request: Request, change: (body: Record<string, unknown>) => unknown): Promise<Request> {
  const body = JSON.stringify(change(JSON.parse(await request.text())));
  return new Request(request.url, { method: request.method, headers: request.headers, body });
}

function withHeaders(request: Request, change: (headers: Headers) => void): Request {
  const headers = new Headers(request.headers);
  change(headers);
  return new Request(request, { headers });
}

async function withText(response: Response, change: (text: string) => string): Promise<Response> {
  return new Response(change(await response.text()), { status: response.status, headers: response.headers });
}

/** Changes a stream block by block; `undefined` leaves one out. */
function withBlocks(response: Response, change: (block: string) => string | undefined): Response {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  const body = response.body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        const blocks = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const changed = change(block);
          if (changed !== undefined) controller.enqueue(encoder.encode(`${changed}\n\n`));
        }
      },
    }),
  );
  return new Response(body ?? null, response);
}

const json = (status: number, body: unknown): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store" },
  });

const EVENTS = /^GET \/threads\/[^/]+\/events/;
const DECISIONS = /^POST .*\/decisions$/;
const ANY = /./;

/** The decisions of a body, each changed. */
const eachDecision =
  (change: (decision: Record<string, unknown>) => unknown) =>
  (request: Request): Promise<Request> =>
    withBody(request, (body) => ({ ...body, decisions: (body.decisions as Record<string, unknown>[]).map(change) })); // the suite's own

export const brokenHandlers: readonly BrokenHandler[] = [
  {
    rule: "a snapshot comes from a stale cache",
    seenBy: { "is run to its end": "the snapshot: expected" },
    plant: answering(/^GET \/threads\/[^/]+$/, (response) =>
      withText(response, (text) => text.replaceAll("Hello there.", "Hello")),
    ),
  },
  {
    rule: "a stream loses a frame",
    seenBy: { "a stream goes on behind any id": "a frame from 5 after 0" },
    plant: answering(EVENTS, (response) => {
      let count = 0;
      return withBlocks(response, (block) => (block.startsWith("id:") && ++count === 1 ? undefined : block));
    }),
  },
  {
    rule: "a stream loses text inside a frame",
    seenBy: { "pieces arrives whole": "the pieces together" },
    plant: answering(EVENTS, (response) => withBlocks(response, (block) => block.replace("4321 ", ""))),
  },
  {
    rule: "half characters are repaired on the way",
    seenBy: { "text and values come back": "the model's text" },
    plant: answering(EVENTS, (response) => withBlocks(response, (block) => block.replaceAll("\\ud83d", "\\ufffd"))),
  },
  {
    rule: "keys are not looked at",
    seenBy: {
      "a message sent again with its key": "the answer, once more",
      "a decision sent again with its key": "the same once more",
    },
    plant: asking(/^POST \/threads($|.*decisions$)/, (request) =>
      withBody(request, (body) => ({ ...body, key: crypto.randomUUID() })),
    ),
  },
  {
    rule: "every message begins a thread",
    seenBy: { "a second message begins a run": "expected 202, got 201" },
    plant: asking(/messages$/, (request) => new Request(request.url.replace(/\/[^/]+\/messages$/, ""), request)),
  },
  {
    rule: "a stop is accepted and forgotten",
    seenBy: { "a stop ends a run": "the run is stopped", "a stop while a call waits": 'expected [410,"stopped"]' },
    plant: asking(/stop$/, () => json(202, { seq: 1 })),
  },
  {
    rule: "a provider's words are shown",
    seenBy: { "a model that fails": "leave the server: sk-conformance" },
    plant: answering(/^GET \/threads\/[^/]+$/, (response) =>
      withText(response, (text) => text.replace('"model-failed"', '"model-failed","cause":"sk-conformance"')),
    ),
  },
  {
    rule: "a removal is accepted and forgotten",
    seenBy: {
      "threads are listed to their owner": 'expected [404,"not-found"]',
      "a reader of a thread that is removed": "the end of a stream: nothing after",
    },
    plant: asking(/^DELETE/, () => new Response(null, { status: 204 })),
  },
  {
    rule: "a proxy keeps a stream until it is whole",
    seenBy: { "a stream begins at once": "/events?after=0: nothing after" },
    plant: answering(EVENTS, (response) => withText(response, (text) => text)),
  },
  {
    rule: "a proxy may buffer",
    seenBy: { "a stream begins at once": "without no-transform" },
    plant: answering(EVENTS, (response) => {
      const headers = new Headers(response.headers);
      headers.set("cache-control", "no-cache");
      return new Response(response.body, { headers });
    }),
  },
  {
    rule: "Last-Event-ID is dropped",
    seenBy: {
      "a stream goes on behind any id": "a frame from 2 after 0",
      "a cursor that is no number": "text/event-stream; charset=utf-8, not JSON",
    },
    plant: asking(EVENTS, (request) => withHeaders(request, (headers) => headers.delete("last-event-id"))),
  },
  {
    rule: "a cursor beyond the end waits for events to come",
    seenBy: { "a cursor beyond the end": "named events: expected" },
    plant: answering(EVENTS, (response) =>
      withBlocks(response, (block) => (block.startsWith("event: reset") ? undefined : block)),
    ),
  },
  {
    rule: "a stream never ends",
    seenBy: { "a stream ends when the run waits": "the end of a stream: nothing after" },
    plant: answering(EVENTS, (response) => {
      const open = new TransformStream<Uint8Array, Uint8Array>();
      void response.body?.pipeTo(open.writable, { preventClose: true }).catch(() => undefined);
      return new Response(open.readable, response);
    }),
  },
  {
    rule: "every second reader misses a word",
    seenBy: { "two readers see the same": "what two readers saw" },
    plant: (handler) => {
      let count = 0;
      return answering(EVENTS, (response) =>
        ++count % 2 === 0 ? withBlocks(response, (block) => block.replace("upon", "")) : response,
      )(handler);
    },
  },
  {
    rule: "nobody tells the endpoint that a reader left",
    seenBy: { "readers that leave let go": "open streams after they left" },
    plant: (handler) => async (request) => {
      if (!EVENTS.test(pathOf(request))) return handler(request);
      const response = await handler(new Request(request.url, { headers: request.headers }));
      const reader = response.body?.getReader();
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          request.signal.addEventListener("abort", () => controller.error(request.signal.reason));
          for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
            if (!request.signal.aborted) controller.enqueue(read.value);
          }
          if (!request.signal.aborted) controller.close();
        },
      });
      return new Response(body, response);
    },
  },
  {
    rule: "a decision is accepted and forgotten",
    seenBy: { "a call waits until it is approved": "the model was told: undefined" },
    plant: asking(DECISIONS, () => json(200, { seq: 1, results: [] })),
  },
  {
    rule: "a call runs when it is denied",
    seenBy: { "a call that is denied does not run": "the call: expected" },
    plant: asking(
      DECISIONS,
      eachDecision(({ reason: _, ...decision }) => ({ ...decision, action: "approve" })),
    ),
  },
  {
    rule: "the model's input runs, whatever was changed",
    seenBy: { "an input that a person changed": 'expected [400,"invalid-input"], got [200' },
    plant: asking(
      DECISIONS,
      eachDecision(({ input: _, ...decision }) => decision),
    ),
  },
  {
    rule: "a digest is not looked at",
    seenBy: { "a decision about what is no longer on screen": 'expected [409,"stale"], got [200' },
    plant: (handler) => async (request) => {
      if (!DECISIONS.test(pathOf(request))) return handler(request);
      const url = request.url.replace(/\/decisions$/, "");
      const text = await (await handler(new Request(url, { headers: request.headers }))).text();
      const [, digest] = /"ask":\{[^}]*"digest":"([^"]+)"/.exec(text) ?? [];
      return handler(await eachDecision((decision) => ({ ...decision, digest }))(request));
    },
  },
  {
    rule: "every approval is accepted",
    seenBy: { "approvals at once run the call once": "approvals that came late" },
    plant: answering(DECISIONS, async (response) => json(200, await response.json())),
  },
  {
    rule: "a proxy lets smaller bodies through",
    seenBy: { "decisions fit into one request": "got [413" },
    plant: asking(DECISIONS, async (request) =>
      (await request.clone().text()).length > 5_000 ? json(413, {}) : request,
    ),
  },
  {
    rule: "an answer is not checked",
    seenBy: { "a question takes the answer": 'expected [400,"invalid-input"], got [200' },
    plant: asking(
      DECISIONS,
      eachDecision((decision) => ({ ...decision, value: { colour: "red" } })),
    ),
  },
  {
    rule: "a grant cannot be taken back",
    seenBy: { "counts until it is taken back": "what is remembered then" },
    plant: asking(/revoke$/, () => json(200, { seq: 1 })),
  },
  {
    rule: "who is nobody is somebody",
    seenBy: { "nobody is told to sign in": 'expected [401,"unauthenticated"]' },
    plant: asking(ANY, (request) =>
      withHeaders(request, (headers) => headers.set("x-user", headers.get("x-user") || "guest")),
    ),
  },
  {
    rule: "everybody is the same user",
    seenBy: {
      "threads are listed to their owner": "a stranger's list",
      "nobody is told to sign in": 'expected [401,"unauthenticated"], got [200',
    },
    plant: (handler) => {
      const user = crypto.randomUUID();
      return asking(ANY, (request) => withHeaders(request, (headers) => headers.set("x-user", user)))(handler);
    },
  },
  {
    rule: "an error brings its cause along",
    seenBy: { "a sign-in that fails": "the server's words leave it: hunter2" },
    plant: answering(ANY, (response) =>
      response.status === 503 ? withText(response, (text) => text.replace("in time", "hunter2")) : response,
    ),
  },
  {
    rule: "an error brings its stack along",
    seenBy: { "a body that is not JSON": "a stack leaves the server" },
    plant: answering(ANY, (response) =>
      response.status === 400
        ? withText(response, (text) => text.replace('"message":"', '"message":"a.ts:1 '))
        : response,
    ),
  },
  {
    rule: "an error is a page of HTML",
    seenBy: { "an address there is nothing at": "an answer of 404 is text/html" },
    plant: answering(ANY, (response) =>
      response.status === 404
        ? new Response("<h1>Not found</h1>", { status: 404, headers: { "content-type": "text/html" } })
        : response,
    ),
  },
  {
    rule: "an error may be kept by a cache",
    seenBy: { "a cursor that is no number": "may be kept" },
    plant: answering(ANY, (response) => {
      const headers = new Headers(response.headers);
      headers.delete("cache-control");
      return new Response(response.body, { status: response.status, headers });
    }),
  },
  {
    rule: "where a write comes from is not looked at",
    seenBy: { "a page of another site may not write": 'expected [403,"forbidden"]' },
    plant: asking(ANY, (request) =>
      withHeaders(request, (headers) => {
        headers.delete("origin");
        headers.delete("sec-fetch-site");
      }),
    ),
  },
  {
    rule: "a proxy knows the server by another name",
    seenBy: { "the app's own page may write": "a write with origin: expected 200, got 403" },
    plant: asking(ANY, (request) => new Request(request.url.replace("shop.test", "10.0.0.9"), request)),
  },
  {
    rule: "any content type is taken for JSON",
    seenBy: { "a body that is not JSON": 'expected [415,"unsupported-media-type"]' },
    plant: asking(/^POST/, (request) =>
      withHeaders(request, (headers) => headers.set("content-type", "application/json")),
    ),
  },
  {
    rule: "a body in pieces is cut at its limit",
    seenBy: { "a body that is too large is refused": 'expected [413,"too-large"]' },
    plant: asking(/^POST/, async (request) => {
      const bytes = new Uint8Array(await request.arrayBuffer());
      return new Request(request.url, {
        method: "POST",
        headers: request.headers,
        body: bytes.subarray(0, 1024 * 1024),
      });
    }),
  },
  {
    rule: "a method there is none of does something",
    seenBy: { "a method the protocol does not have": "PUT answers 200" },
    plant: asking(/^PUT/, (request) => new Request(request.url, { headers: request.headers })),
  },
];
