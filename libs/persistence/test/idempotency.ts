import { randomUUID } from 'node:crypto';
import type { IdempotentRequest } from '@rmm/service-kit';
import type { HasTenant } from '../src/tenants/tenant-context.js';
import { type Fleet, partner, startFleet } from './fixture.js';

/** A database with the table of idempotency keys. */
export interface IdempotencyFixture {
  fleet: Fleet;
  /** Returns a request with a key, of a new partner. */
  request(): { fleet: Fleet; caller: HasTenant; request: IdempotentRequest };
  /** Lets every stored response expire. */
  expireAll(): Promise<void>;
  stop(): Promise<void>;
}

export async function startIdempotency(): Promise<IdempotencyFixture> {
  const fleet = await startFleet();
  return {
    fleet,
    request: () => {
      const partnerId = randomUUID();
      const request = { id: randomUUID(), callerId: `user:${randomUUID()}`, bodyHash: 'a', partnerId, orgId: null };
      return { fleet, caller: partner(partnerId), request: { ...request, replayed: false } };
    },
    expireAll: async () => {
      await fleet.admin(`update provisioning.idempotency_record set expires_at = now() - interval '1 second'`);
    },
    stop: () => fleet.stop(),
  };
}
