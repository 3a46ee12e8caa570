import { randomUUID } from 'node:crypto';
import type { IdempotentRequest } from '@rmm/service-kit';
import type { HasTenant } from '../src/tenants/tenant-context.js';
import { PersistenceTestDatabase, partner } from './persistence-test-database.js';

/** A database with the table of idempotency keys. */
export interface IdempotencyFixture {
  fleet: PersistenceTestDatabase;
  /** Returns a request with a key, of a new partner. */
  request(): { fleet: PersistenceTestDatabase; caller: HasTenant; request: IdempotentRequest };
  /** Lets every stored response expire. */
  expireAll(): Promise<void>;
  /** Ends the time of every response that has one of its own. */
  expireResponses(): Promise<void>;
  /** Reads a stored response past every time limit. */
  storedResponse(request: IdempotentRequest): Promise<string | null>;
  stop(): Promise<void>;
}

export async function startIdempotency(): Promise<IdempotencyFixture> {
  const fleet = await PersistenceTestDatabase.start();
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
    expireResponses: async () => {
      await fleet.admin(
        `update provisioning.idempotency_record set response_expires_at = now() - interval '1 second'
         where response_expires_at is not null`,
      );
    },
    storedResponse: async ({ id }) => {
      const sql = 'select response from idempotency_record where id = :id';
      const [row] = await fleet.worker.query<{ response: string | null }>(sql, { id });
      if (!row) throw new Error('no such record');
      return row.response;
    },
    stop: () => fleet.stop(),
  };
}
