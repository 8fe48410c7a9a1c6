import { createShopAssistant } from "../../../../lib/toolrun.ts";

export const runtime = "edge"; // or leave it out: any Web-standard runtime
export const { GET, POST, DELETE } = createShopAssistant();
