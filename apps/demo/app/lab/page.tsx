import type { Metadata } from "next";
import { cookies } from "next/headers";
import type { ReactNode } from "react";
import { GUEST_COOKIE } from "../../lib/guest.ts";
import { Lab } from "./lab.tsx";

export const metadata: Metadata = { title: "Lab" };

interface LabPageProps {
  readonly searchParams: Promise<{
    readonly state?: string;
    readonly scenario?: string;
    readonly thread?: string;
    readonly lang?: string;
  }>;
}

/** Every state of every component, from canned data; and every scenario, for real. */
export default async function LabPage({ searchParams }: LabPageProps): Promise<ReactNode> {
  const { state = "approval", scenario, thread, lang = "en" } = await searchParams;
  const guest = (await cookies()).get(GUEST_COOKIE)?.value;
  return (
    <Lab key={`${scenario} ${state}`} name={state} scenario={scenario} threadId={thread} userId={guest} lang={lang} />
  );
}
