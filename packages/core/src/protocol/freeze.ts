/**
 * Makes a value, and all that is in it, unchangeable: observers get what the log and the state hold themselves, and one
 * that changed it would change what runs. What is frozen already is passed over, so a state costs what is new in it.
 */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}
