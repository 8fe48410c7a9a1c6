const first = Number(process.env.E2E_PORT ?? 3210);

/** Where the two servers under test listen, and the model server between one of them and its tests. */
export const ports = { scripted: first, openai: first + 1, model: first + 2 } as const;
