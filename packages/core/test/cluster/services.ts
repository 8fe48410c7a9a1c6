import { postgresBinaries, startPostgres } from "../adapters/postgres-server.ts";
import { hasRedis, startRedis } from "../adapters/redis-server.ts";

/** A store that outlives the servers. */
export interface Service {
  readonly url: string;
  stop(): Promise<void>;
}

export interface ServiceKind {
  readonly name: string;
  /** False where it cannot be had: its tests are skipped, and in CI that is an error. */
  readonly isThere: boolean;
  start(): Promise<Service>;
}

/** Both durable stores; `what` is said not to have run where one is missing. */
export async function services(what: string): Promise<readonly [redis: ServiceKind, postgres: ServiceKind]> {
  return [
    { name: "Redis", isThere: await hasRedis(`${what}, on Redis`), start: startRedisService },
    { name: "PostgreSQL", isThere: postgresBinaries !== undefined, start: startPostgresService },
  ];
}

async function startRedisService(): Promise<Service> {
  const server = await startRedis();
  return { url: server.url, stop: () => server.close() };
}

async function startPostgresService(): Promise<Service> {
  const server = await startPostgres();
  return { url: await server.createDatabase(), stop: () => server.stop() };
}
