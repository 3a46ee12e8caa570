import type { ServiceName } from '../services.js';
import type { RpcContract } from './rpc-contract.js';

export interface ReplayParkedRequest {
  /** Only what this durable consumer parked. */
  consumer?: string;
  /** At most so many, oldest first; 1,000 by default. */
  limit?: number;
}

export interface ReplayParkedReply {
  replayed: number;
  failed: number;
  /** Still parked, the failed ones included. */
  left: number;
}

/** An operator has the cause of parked messages mended: handle them again. No service's own login may ask. */
export const replayParked = (service: ServiceName): RpcContract<ReplayParkedRequest, ReplayParkedReply> => ({
  subject: `rmm.operations.${service}.replay-parked`,
  timeoutMs: 60_000,
});
