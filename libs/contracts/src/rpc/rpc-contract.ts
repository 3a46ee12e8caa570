import type { z } from 'zod';

/** A request between services: the NATS subject, the schema of the request and, for the compiler, the type of the reply. */
export interface RpcContract<Request, Reply> {
  readonly subject: string;
  /** Default time limit of a call in milliseconds. */
  readonly timeoutMs: number;
  /**
   * True when a repeated request has no further effect: reads, and writes that name what they write. Such a request is
   * sent a second time when its reply is late, because the replica that got it may be gone.
   */
  readonly idempotent: boolean;
  /** Validates a request when it is served. Unknown fields are dropped, so that a caller may be newer than its callee. */
  readonly request: z.ZodType<Request>;
  /** Carries the type of the reply; never set. */
  readonly reply?: Reply;
}

export type RpcRequest<Contract extends { request: z.ZodType }> = z.infer<Contract['request']>;
export type RpcReply<Contract extends { reply?: unknown }> = Exclude<Contract['reply'], undefined>;

/** Declares the type of a reply: `reply: replyOf<{ site: SiteState | null }>()`. Replies are not validated at run time. */
export const replyOf = <Reply>(): Reply | undefined => undefined;

export interface RpcDeclaration<Request, Reply> {
  request: z.ZodType<Request>;
  reply: Reply | undefined;
  /** Milliseconds; 3,000 by default. */
  timeoutMs?: number;
  /** False by default. */
  idempotent?: boolean;
}

/** Declares a contract named `<service>.<noun>.<verb>`; the replicas of the service share its requests. */
export function rpc<Request, Reply>(
  name: string,
  { request, timeoutMs = 3_000, idempotent = false }: RpcDeclaration<Request, Reply>,
): RpcContract<Request, Reply> {
  return { subject: `rmm.rpc.${name}`, timeoutMs, idempotent, request };
}

/** Declares a contract for operators, who call it with a login of their own: no service's login may. */
export function operation<Request, Reply>(
  name: string,
  { request, timeoutMs = 10_000, idempotent = false }: RpcDeclaration<Request, Reply>,
): RpcContract<Request, Reply> {
  return { subject: `rmm.operations.${name}`, timeoutMs, idempotent, request };
}
