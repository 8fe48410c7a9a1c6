import type { Metadata } from "next";
import type { ReactNode } from "react";
import { Lab } from "./lab.tsx";

export const metadata: Metadata = { title: "Lab" };

/** Every state of every component, from canned data: for screenshots, for tests, and for looking. */
export default async function LabPage(props: {
  readonly searchParams: Promise<{ state?: string }>;
}): Promise<ReactNode> {
  const { state = "approval" } = await props.searchParams;
  return <Lab key={state} name={state} />;
}
