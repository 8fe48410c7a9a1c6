import { cookies } from "next/headers";
import { after } from "next/server";
import type { ReactNode } from "react";
import { warmDatabase } from "../lib/db.ts";
import { GUEST_COOKIE } from "../lib/guest.ts";
import { ShopDesk } from "./components/shop-desk.tsx";

interface PageProps {
  readonly searchParams: Promise<{ readonly thread?: string | readonly string[] }>;
}

/** The shop's desk: orders on one side, the assistant that works on them on the other. */
export default async function Page({ searchParams }: PageProps): Promise<ReactNode> {
  after(() => warmDatabase()); // it starts while the person reads
  const { thread } = await searchParams;
  const guest = (await cookies()).get(GUEST_COOKIE)?.value;
  return (
    <ShopDesk
      initialThreadId={typeof thread === "string" ? thread : undefined}
      userId={guest}
      canRestart={Boolean(process.env.DEMO_SUPERVISOR)}
    />
  );
}
