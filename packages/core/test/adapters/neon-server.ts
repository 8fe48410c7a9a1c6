import { once } from "node:events";
import { createServer } from "node:http";
import pg from "pg";

/** A database over HTTP as Neon's driver speaks to one, in front of a real PostgreSQL. */
export interface NeonServer {
  readonly endpoint: string;
  close(): Promise<void>;
}

export async function startNeon(url: string): Promise<NeonServer> {
  // The driver asks for text and knows the types itself.
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    types: { getTypeParser: () => (value: unknown) => value },
  });
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    try {
      const { query, params } = JSON.parse(body);
      const { fields, rows, command, rowCount } = await pool.query({ text: query, values: params, rowMode: "array" });
      const answer = { fields: fields.map(({ name, dataTypeID }) => ({ name, dataTypeID })), rows, command, rowCount };
      response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
    } catch (error) {
      const { message, code } = error as { message: string; code?: string };
      response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ message, code }));
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("No port is free.");
  return {
    endpoint: `http://127.0.0.1:${address.port}/sql`,
    async close() {
      server.closeAllConnections();
      server.close();
      await pool.end();
    },
  };
}
