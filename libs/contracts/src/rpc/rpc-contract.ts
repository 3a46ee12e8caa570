/** A request between services: the NATS subject, and at compile time what goes in and what comes out. */
export interface RpcContract<Request, Reply> {
  readonly subject: string;
  /** How long a caller waits by default, in milliseconds. */
  readonly timeoutMs: number;
  /** Only for the compiler. */
  readonly types?: { request: Request; reply: Reply };
}

/** Declares a contract; the queue group is the first part of the name: `identity.access.resolve`. */
export const rpc = <Request, Reply>(name: string, timeoutMs = 3_000): RpcContract<Request, Reply> => ({
  subject: `rmm.rpc.${name}`,
  timeoutMs,
});
