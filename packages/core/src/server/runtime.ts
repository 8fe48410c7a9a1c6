import { onCloudflare } from "../loop/clock.ts";

/** What the platform we run on lets us do. */
export interface Runtime {
  readonly production: boolean;
  /** Work started by a request goes on after its response. */
  readonly livesOn: boolean;
  readonly waitUntil: ((work: Promise<unknown>) => void) | undefined;
}

interface RequestContext {
  readonly get?: () => { readonly waitUntil?: (work: Promise<unknown>) => void } | undefined;
}

const CONTEXTS = ["@next/request-context", "@vercel/request-context"];

/** Looks at the platform once; nothing here needs it to be there. */
export function findRuntime(): Runtime {
  const ephemeral = ["VERCEL", "AWS_LAMBDA_FUNCTION_NAME", "NETLIFY", "CF_PAGES"].some(variable);
  const mode = variable("NODE_ENV");
  return {
    // Unknown counts as production: everybody being the user "dev" must never happen by accident.
    production: mode === undefined || mode === "production",
    livesOn: !ephemeral && !onCloudflare(),
    waitUntil: variable("VERCEL") ? platformWaitUntil : undefined,
  };
}

/** Undefined also where it may not be read: Deno asks for a permission, and throws where it has none. */
function variable(name: string): string | undefined {
  try {
    return typeof process === "object" ? process.env?.[name] : undefined;
  } catch {
    return undefined;
  }
}

/** The waitUntil of the request that is being handled, where the platform keeps one. */
function platformWaitUntil(work: Promise<unknown>): void {
  for (const name of CONTEXTS) {
    const holder = (globalThis as Record<symbol, unknown>)[Symbol.for(name)] as RequestContext | undefined; // set by the platform
    const waitUntil = holder?.get?.()?.waitUntil;
    if (waitUntil) {
      waitUntil(work);
      return;
    }
  }
}
