export type { HttpContext } from "./adapters/http-headers.ts";
export type { HttpAnswer, HttpMethod, HttpToolOptions } from "./adapters/http-tool.ts";
export { httpTool } from "./adapters/http-tool.ts";
