/** The functions under test, real or mutated. */
export type Subject = typeof import("./subject.ts");
