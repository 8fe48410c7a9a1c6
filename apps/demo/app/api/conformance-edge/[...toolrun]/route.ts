import { createConformance } from "../../../../lib/conformance.ts";

export const runtime = "edge";
export const { GET, POST, DELETE } = createConformance();
