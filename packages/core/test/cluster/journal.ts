/** One execution of a tool. */
export interface Execution {
  readonly tool: string;
  readonly threadId: string;
  readonly callId: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  /** Its `call-started` was in the log when it began. */
  readonly isLogged: boolean;
}

/** What was really done, kept outside of the servers. */
export interface Journal {
  write(execution: Execution): Promise<void>;
  read(): Promise<readonly Execution[]>;
}
