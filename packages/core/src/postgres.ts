export type {
  PostgresClient,
  PostgresJsClient,
  PostgresQueryClient,
  PostgresQueryFunction,
} from "./adapters/postgres-client.ts";
export type { PostgresSchemaOptions } from "./adapters/postgres-schema.ts";
export { migrate, postgresSchema } from "./adapters/postgres-schema.ts";
export type { PostgresStoreOptions } from "./adapters/postgres-store.ts";
export { postgresStore } from "./adapters/postgres-store.ts";
