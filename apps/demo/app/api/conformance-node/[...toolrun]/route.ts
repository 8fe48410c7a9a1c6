import { createConformance } from "../../../../lib/conformance.ts";

export const runtime = "nodejs";
export const dynamic = "force-dynamic";
export const { GET, POST, DELETE } = createConformance();
