/**
 * Throw it from `execute` when nobody knows whether something happened, such as after a connection that broke while a
 * service worked: the step says so, and the model is told to find out before it tries again. It is tried again only
 * where the tool is `idempotent`.
 */
export class UnknownEffect extends Error {
  override readonly name = "UnknownEffect";
}

/** True for an UnknownEffect of any copy of this package. */
export function isUnknownEffect(error: unknown): error is UnknownEffect {
  try {
    return error instanceof Error && error.name === "UnknownEffect";
  } catch {
    return false; // an error that cannot be read
  }
}
