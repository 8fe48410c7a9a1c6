import { createToolServerLab } from "../../../../lib/tool-servers.ts";

// Node, because its tool servers are processes that it starts.
export const { GET, POST, DELETE } = createToolServerLab();
