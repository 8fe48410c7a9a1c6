import { cookies } from "next/headers";
import type { ReactNode } from "react";
import { GUEST_COOKIE } from "../../lib/guest.ts";
import { ShopDesk } from "../components/shop-desk.tsx";

interface PageProps {
  readonly searchParams: Promise<{ readonly thread?: string | readonly string[] }>;
}

/** The shop's desk once more, on the endpoint that runs on Node: nothing else differs. */
export default async function Page({ searchParams }: PageProps): Promise<ReactNode> {
  const { thread } = await searchParams;
  const guest = (await cookies()).get(GUEST_COOKIE)?.value;
  return (
    <ShopDesk
      initialThreadId={typeof thread === "string" ? thread : undefined}
      userId={guest}
      canRestart={Boolean(process.env.DEMO_SUPERVISOR)}
      endpoint="/api/toolrun-node"
    />
  );
}
