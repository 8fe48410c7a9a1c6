import { createLab } from "../../../../lib/lab.ts";

export const runtime = "edge";
export const { GET, POST, DELETE } = createLab();
