// The databases of the load measurement: real ones, thrown away, with the settings production should have.
import { startPostgres } from "../../packages/core/test/adapters/postgres-server.ts";
import { startRedis } from "../../packages/core/test/adapters/redis-server.ts";

const services = {
  async memory() {
    return { url: "", close: async () => {} };
  },
  async redis() {
    const server = await startRedis("--appendonly", "yes", "--appendfsync", "everysec");
    return { url: server.url, close: () => server.close() };
  },
  async postgres() {
    const durable = { fsync: "on", synchronous_commit: "on", full_page_writes: "on", shared_buffers: "128MB" };
    const server = await startPostgres(durable);
    return { url: await server.createDatabase(), close: () => server.stop() };
  },
};

export function startService(name) {
  return services[name]();
}
