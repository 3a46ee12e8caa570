import { Injectable } from '@nestjs/common';
import type { AuditedCaller } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { Job } from '@rmm/service-kit';
import { ApiKeyChanges, type HashedApiKey } from './api-key-changes.js';

const BATCH = 500;
const THE_SERVICE: AuditedCaller = {
  actor: { type: 'system', id: null },
  tenant: { partnerId: null, orgId: null },
};

/** $1 keys, or null for all that have lapsed. Locked in order of id; those another replica marks are left to it. */
const MARK = `
  UPDATE api_key SET status = 'expired', previous_key_hash = NULL, previous_valid_until = NULL, updated_at = now()
  WHERE id IN (
    SELECT id FROM api_key
    WHERE status = 'active' AND expires_at <= now() AND ($1::uuid[] IS NULL OR id = ANY ($1))
    ORDER BY id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
  )
  RETURNING id, name, partner_id AS "partnerId", org_id AS "orgId", key_prefix AS "keyPrefix", key_hash AS "keyHash",
    expires_at AS "expiresAt"`;

/** Stores that a key has expired: when it is used next, or at the next sweep. @see SPEC.md 3.1 */
@Injectable()
export class ApiKeyExpiry {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly changes: ApiKeyChanges,
  ) {}

  /** Marks all that have lapsed, and forgets predecessors that no longer work. */
  @Job({ name: 'expire-api-keys', everyMs: 30_000 })
  async run(): Promise<void> {
    while ((await this.mark(null)) === BATCH);
    await this.worker.query(
      `UPDATE api_key SET previous_key_hash = NULL, previous_valid_until = NULL WHERE previous_valid_until <= now()`,
    );
  }

  /** @returns how many of these keys, or of all, were marked */
  mark(keyIds: readonly string[] | null): Promise<number> {
    return this.worker.transaction(async (tx) => {
      const marked = await tx.query<HashedApiKey>(MARK, [keyIds]);
      for (const key of marked) {
        const { keyPrefix, expiresAt } = key;
        await this.changes.audit(tx, THE_SERVICE, 'api_key.expire', key, { keyPrefix, expiresAt });
      }
      await this.changes.announce(tx, marked, 'expired');
      return marked.length;
    });
  }
}
