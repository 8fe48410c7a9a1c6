/** Equal as JSON: fields that are undefined are not there, and their order means nothing. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return left.every((item, index) => sameJson(item, right[index]));
  }
  const [one, two] = [Object.entries(left), Object.entries(right)];
  const others = new Map<string, unknown>(two);
  const present = (entries: readonly (readonly [string, unknown])[]): number =>
    entries.filter(([, value]) => value !== undefined).length;
  return present(one) === present(two) && one.every(([name, value]) => sameJson(value, others.get(name)));
}

export function plain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value));
}
