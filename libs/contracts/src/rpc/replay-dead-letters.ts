import type { ServiceName } from '../services.js';
import type { RpcContract } from './rpc-contract.js';

export interface ReplayDeadLettersRequest {
  /** Only what this durable consumer parked. */
  consumer?: string;
  /** At most so many, oldest first; 1,000 by default. */
  limit?: number;
}

export interface ReplayDeadLettersReply {
  replayed: number;
  failed: number;
  /** Still parked, the failed ones included. */
  left: number;
}

/** An operator has the cause of parked messages mended: handle them again. No service's own login may ask. */
export const replayDeadLetters = (
  service: ServiceName,
): RpcContract<ReplayDeadLettersRequest, ReplayDeadLettersReply> => ({
  subject: `rmm.operations.${service}.replay-dead-letters`,
  timeoutMs: 60_000,
});
