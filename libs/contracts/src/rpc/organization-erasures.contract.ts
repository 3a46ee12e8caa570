import { z } from 'zod';
import { uuid } from './fields.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

/** The services other than provisioning that store data of organizations. */
export const ERASING_SERVICES = ['identity', 'credentials', 'webhook-dispatcher'] as const;
export type ErasingService = (typeof ERASING_SERVICES)[number];

/** The number of erased records by their kind. */
export type ErasedCounts = Record<string, number>;

/** Reports that a service has erased what it stored of an organization; a repeated report changes nothing. */
export const PROVISIONING_ERASURES_REPORT = rpc('provisioning.organization-erasures.report', {
  request: z.object({
    orgId: uuid,
    partnerId: uuid,
    service: z.enum(ERASING_SERVICES),
    erased: z.record(z.string().max(64), z.int().min(0)),
  }),
  reply: replyOf<{ recorded: boolean }>(),
  idempotent: true,
});
export type ErasureReport = RpcRequest<typeof PROVISIONING_ERASURES_REPORT>;
