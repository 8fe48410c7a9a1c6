import type { Database, Sql, SqlParam, SqlRow } from "./sql.ts";

/** The one method of `postgres` that takes a finished statement with its parameters apart, on a pool or a transaction. */
interface Runner {
  unsafe(text: string, params?: SqlParam[]): PromiseLike<readonly SqlRow[]>;
}

/** Opens a pool on a real Postgres: what `DATABASE_URL` names. */
export async function openPostgres(url: string): Promise<Database> {
  const { default: postgres } = await import("postgres");
  const pool = postgres(url, { max: 10, onnotice: () => undefined });
  return {
    ...toSql(pool),
    transaction: async (work) => {
      // Boxed, because `begin` unwraps arrays of promises and would change the type of what the work returns.
      const { result } = await pool.begin(async (transaction) => ({ result: await work(toSql(transaction)) }));
      return result;
    },
    script: async (text) => {
      await pool.unsafe(text);
    },
    close: () => pool.end({ timeout: 5 }),
  };
}

function toSql(runner: Runner): Sql {
  return {
    query: async (text, params = []) => Array.from(await runner.unsafe(text, [...params])),
  };
}
