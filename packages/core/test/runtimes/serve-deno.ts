import { handlerUnderTest } from "../../src/testing/handler-under-test.ts";

declare const Deno: {
  serve(
    options: {
      readonly hostname: string;
      readonly port: number;
      readonly onListen: (address: { readonly port: number }) => void;
    },
    handler: (request: Request) => Promise<Response>,
  ): unknown;
};

const onListen = ({ port }: { readonly port: number }): void => console.log(JSON.stringify({ port }));

Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, handlerUnderTest().GET);
