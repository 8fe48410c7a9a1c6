const first = Number(process.env.E2E_PORT ?? 3210);

/**
 * Where the servers under test listen. Tests share a shop, so each of the two workers has a server with a shop of its
 * own; one more asks a real provider package, whose server the tests are.
 */
export const ports = {
  scripted: [first, first + 1],
  openai: first + 2,
  model: first + 3,
  bare: first + 4,
  bareModel: first + 5,
  mcpEverything: first + 6,
  mcpFiles: first + 7,
} as const;
