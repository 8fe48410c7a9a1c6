// @vitest-environment node
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

// A program of its own: what is merged into `Register` holds for the whole program it is part of.
// In a folder that begins with a dot, which the package's own program skips.
const here: string = fileURLToPath(new URL(".", import.meta.url));
const require: NodeJS.Require = createRequire(import.meta.url);
const compiler: string = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(here, ".registered-"));
});

afterAll(() => rm(folder, { recursive: true }));

async function compile(files: Readonly<Record<string, string>>): Promise<string> {
  const config = {
    extends: "../../../../../tsconfig.base.json",
    compilerOptions: { jsx: "react-jsx", types: ["node"], isolatedDeclarations: false, declaration: false },
    files: Object.keys(files),
  };
  const all = Object.entries({ ...files, "tsconfig.json": JSON.stringify(config) });
  await Promise.all(all.map(([name, text]) => writeFile(join(folder, name), text)));
  const done = promisify(execFile)(process.execPath, [compiler, "--noEmit", "-p", folder]);
  return (await done.catch((error: { stdout: string }) => error)).stdout;
}

const register = `
import type { User } from "toolrun";
interface Tool<Input, Output> {
  readonly "~types"?: { readonly input: Input; readonly output: Output } | undefined;
}
interface ShopAgent {
  readonly "~tools"?: { readonly refundOrder: Tool<{ orderId: string; amount: number }, { refunded: number }> };
}
declare module "toolrun" {
  interface Register { agent: ShopAgent; user: { id: string; role: "admin" | "clerk" } }
}
export const roleOf = (user: User): "admin" | "clerk" => user.role;
`;

/** As the documentation shows it, to the letter. */
const chat = `"use client";
import { useToolRun, type Step } from "@toolrun/react";

export default function Chat() {
  const run = useToolRun();
  return (
    <main>
      {run.messages.map((message) => (
        <article key={message.id}>
          {message.parts.map((part, index) => {
            if (part.type === "text") return <p key={index}>{part.text}</p>;
            if (part.type === "step") return <StepLine key={part.step.id} step={part.step} />;
            return null;
          })}
        </article>
      ))}
      {run.pending.map((step) => (
        <fieldset key={step.id} disabled={step.sending}>
          <legend>{step.title}?</legend>
          <pre>{JSON.stringify(step.input, null, 2)}</pre>
          <button onClick={() => run.approve(step)}>Approve</button>
          <button onClick={() => run.deny(step, "Not now")}>Deny</button>
        </fieldset>
      ))}
      <form action={(form) => void run.send(String(form.get("text")))}>
        <input name="text" />
        {run.status === "running" ? <button type="button" onClick={run.stop}>Stop</button> : <button>Send</button>}
      </form>
    </main>
  );
}

function StepLine({ step }: { step: Step }) {
  if (step.status === "running") return <p>{step.title} <progress {...step.progress} /></p>;
  if (step.status === "not-run") return <p>{step.title}: not run ({step.reason})</p>;
  if (step.tool === "refundOrder" && step.status === "succeeded") return <p>Refunded {step.output.refunded} EUR</p>;
  return <p>{step.title}: {step.status}</p>;
}
`;

test("an own UI of 38 lines, typed by the registered agent, compiles", async () => {
  expect(chat.trimEnd().split("\n")).toHaveLength(38);
  expect(await compile({ "register.ts": register, "chat.tsx": chat })).toBe("");
}, 60_000);

test.each([
  ["a field the tool does not return", "step.output.refunded", "step.output.refund", "TS2551"],
  ["a tool the agent does not have", '"refundOrder"', '"refundOrders"', "TS2367"],
  ["an output before success", '"succeeded"', '"queued"', "TS2339"],
])(
  "%s does not compile",
  async (_name, right, wrong, code) => {
    expect(await compile({ "register.ts": register, "chat.tsx": chat.replace(right, wrong) })).toContain(code);
  },
  60_000,
);
