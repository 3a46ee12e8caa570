import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import type { ApiKey } from './api-key.entity.js';

/** A key that expires within `days` and whose creator is to be reminded. */
export type ExpiringKey = Pick<ApiKey, 'id' | 'partnerId' | 'orgId' | 'name' | 'keyPrefix'> & {
  createdBy: string;
  expiresAt: Date;
  days: number;
};

/** Queries of jobs, over the keys of all tenants. SQL, because each statement changes a set of keys. */
@Injectable()
export class ApiKeyExpiryRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /**
   * Stores the status of keys that have expired: of those given, or of all for null, those that expired first. In SQL because
   * it leaves rows that another replica has locked to that replica; it waits for none, so their order is free. In order of
   * ids the planner would read every key.
   */
  markExpired(tx: WorkerTransaction, keyIds: readonly string[] | null, limit: number): Promise<ApiKey[]> {
    return tx.query<ApiKey>(
      `UPDATE api_key SET status = 'expired', previous_key_hash = NULL, previous_valid_until = NULL, updated_at = now()
       WHERE id = ANY (ARRAY(
         SELECT id FROM api_key
         WHERE status = 'active' AND expires_at <= now() AND (:keyIds::uuid[] IS NULL OR id = ANY (:keyIds))
         ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
       ))
       RETURNING id, name, partner_id AS "partnerId", org_id AS "orgId", key_prefix AS "keyPrefix",
         key_hash AS "keyHash", expires_at AS "expiresAt"`,
      { keyIds, limit },
    );
  }

  /** Deletes the hashes of previous keys whose overlap has ended. */
  async deleteEndedPreviousKeys(): Promise<void> {
    await this.worker.query(
      'UPDATE api_key SET previous_key_hash = NULL, previous_valid_until = NULL WHERE previous_valid_until <= now()',
    );
  }

  /**
   * Finds keys for which a reminder is due, nearest end first. Each key gets the nearest reminder only; a key created
   * after the time of a reminder gets none for it.
   * @param reminderDays days before the end
   * @param after the last key of the previous page
   */
  findExpiring(
    reminderDays: readonly number[],
    limit: number,
    after: Pick<ExpiringKey, 'id' | 'expiresAt'> | null,
  ): Promise<ExpiringKey[]> {
    return this.worker.query<ExpiringKey>(
      `SELECT k.id, k.partner_id AS "partnerId", k.org_id AS "orgId", k.name, k.key_prefix AS "keyPrefix",
         k.created_by AS "createdBy", k.expires_at AS "expiresAt", due.days
       FROM api_key k
       CROSS JOIN LATERAL (
         SELECT days FROM unnest(:reminderDays::integer[]) AS stage(days)
         WHERE now() >= k.expires_at - make_interval(days => days)
           AND k.created_at < k.expires_at - make_interval(days => days)
         ORDER BY days LIMIT 1
       ) due
       WHERE k.status = 'active' AND k.expires_at BETWEEN now() AND now() + interval '14 days'
         AND k.expiry_reminders AND k.created_by IS NOT NULL
         AND (k.reminded_at IS NULL OR k.reminded_at < k.expires_at - make_interval(days => due.days))
         AND (:afterId::uuid IS NULL OR (date_trunc('milliseconds', k.expires_at), k.id) > (:afterTime::timestamptz, :afterId))
       ORDER BY date_trunc('milliseconds', k.expires_at), k.id LIMIT :limit`,
      { reminderDays, limit, afterId: after?.id ?? null, afterTime: after?.expiresAt ?? null },
    );
  }

  async setReminded(id: string): Promise<void> {
    await this.worker.query('UPDATE api_key SET reminded_at = now() WHERE id = :id', { id });
  }
}
