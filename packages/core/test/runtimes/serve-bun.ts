import { handlerUnderTest } from "../../src/testing/handler-under-test.ts";

declare const Bun: {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly idleTimeout: number;
    readonly fetch: (request: Request) => Promise<Response>;
  }): { readonly port: number };
};

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 60, // seconds; a stream's comments are 15 s apart, and Bun's own 10 s would cut it
  fetch: handlerUnderTest().GET,
});

console.log(JSON.stringify({ port: server.port }));
