// @ts-check
import { parentPort, workerData } from "node:worker_threads";

/**
 * PGlite in a thread of its own. In the server's thread its start would hold up every page and stream: four seconds for
 * a new directory, and some for an old one. Plain JavaScript, because tests run it as it is.
 *
 * It answers `{ id, text, params }` with `{ id, rows }` or `{ id, error }`, in order; a script has no `params`. The
 * first answer, with id 0, says that the database is open.
 */

// Left as it is by bundlers: bundled, PGlite no longer finds the WASM file beside it.
const { PGlite } = await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ "@electric-sql/pglite");
const pglite = await PGlite.create(workerData.directory);

parentPort?.on("message", async ({ id, text, params }) => {
  try {
    if (!params) await pglite.exec(text);
    parentPort?.postMessage({ id, rows: params ? (await pglite.query(text, params)).rows : [] });
  } catch (error) {
    const { message = String(error), code } = /** @type {{ message?: string; code?: string }} */ (error);
    parentPort?.postMessage({ id, error: { message, code } });
  }
});
parentPort?.postMessage({ id: 0, rows: [] });
