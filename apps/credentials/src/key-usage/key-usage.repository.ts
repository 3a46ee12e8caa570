import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import type { KeyUse } from '@rmm/contracts';
import { TenantDatabase, TenantRepository, WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { ApiKeyUsage } from './api-key-usage.entity.js';
import { KeyUsageBatch } from './key-usage-batch.entity.js';

const TABLE = { api_key: 'api_key', partner_key: 'partner_principal_key' } as const;
/** Uses of an API key count for the key they were made with: a rotation resets the counters. */
const SAME_GENERATION = { api_key: 'AND k.generation = u.generation', partner_key: '' } as const;

/** Locks the keys in order of id, so that two batches of the same keys cannot deadlock. */
const addUsesSql = (kind: KeyUse['kind']) => `
  WITH u AS (
    SELECT * FROM unnest(:ids::uuid[], :generations::integer[], :counts::bigint[], :lastUsedAt::timestamptz[])
      AS u(id, generation, count, last_used_at)
  ), locked AS (
    SELECT id FROM ${TABLE[kind]} WHERE id IN (SELECT id FROM u) ORDER BY id FOR UPDATE
  )
  UPDATE ${TABLE[kind]} k SET usage_count = k.usage_count + u.count,
    last_used_at = greatest(k.last_used_at, u.last_used_at)
  FROM u JOIN locked USING (id) WHERE k.id = u.id ${SAME_GENERATION[kind]} RETURNING k.id`;
const ADD_USES = { api_key: addUsesSql('api_key'), partner_key: addUsesSql('partner_key') };

/** Counters of the use of keys. Counting is set-based SQL: one statement for each kind of key in a batch. */
@Injectable()
export class KeyUsageRepository extends TenantRepository<ApiKeyUsage> {
  constructor(
    tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
  ) {
    super(tenants, ApiKeyUsage, () => new Error('API key usage not found'), { ownership: 'organization' });
  }

  /** Lists the days on which a key was used, from a day on (`2026-11-21`). */
  listDays(caller: UserCaller, keyId: string, from: string): Promise<Pick<ApiKeyUsage, 'day' | 'count'>[]> {
    const conditions = [{ sql: 'apiKeyUsage.day >= :from::date', params: { from } }];
    return this.findMany(caller, { where: { keyId }, conditions, columns: ['day', 'count'], sort: { day: 'ASC' } });
  }

  /** @returns false when the batch was stored before */
  async addBatch(tx: WorkerTransaction, batchId: string): Promise<boolean> {
    const inserted = await tx.manager
      .createQueryBuilder()
      .insert()
      .into(KeyUsageBatch)
      .values({ batchId })
      .orIgnore()
      .returning('batch_id')
      .execute();
    return (inserted.raw as unknown[]).length > 0;
  }

  /** Adds uses of one kind of key, in order of id. @returns how many keys were updated */
  async addUses(tx: WorkerTransaction, kind: KeyUse['kind'], uses: readonly KeyUse[]): Promise<number> {
    const rows = await tx.query(ADD_USES[kind], {
      ids: uses.map((use) => use.keyId),
      generations: uses.map((use) => use.generation),
      counts: uses.map((use) => use.count),
      lastUsedAt: uses.map((use) => use.lastUsedAt),
    });
    return rows.length;
  }

  /** Adds uses of API keys to their day in UTC, whatever the time zone of the database. */
  async addDays(tx: WorkerTransaction, uses: readonly KeyUse[]): Promise<void> {
    await tx.query(
      `INSERT INTO api_key_usage AS d (key_id, partner_id, org_id, day, count)
       SELECT k.id, k.partner_id, k.org_id, u.day, sum(u.count)
       FROM unnest(:ids::uuid[], :counts::bigint[], :days::date[]) AS u(id, count, day) JOIN api_key k ON k.id = u.id
       GROUP BY k.id, u.day ORDER BY k.id, u.day
       ON CONFLICT (key_id, day) DO UPDATE SET count = d.count + excluded.count`,
      {
        ids: uses.map((use) => use.keyId),
        counts: uses.map((use) => use.count),
        days: uses.map((use) => use.lastUsedAt.slice(0, 10)),
      },
    );
  }

  /** Deletes batches that no sender repeats any more, oldest first. @returns how many were deleted */
  async deleteOldBatches(limit: number): Promise<number> {
    const rows = await this.worker.query(
      `DELETE FROM key_usage_batch WHERE batch_id IN (
         SELECT batch_id FROM key_usage_batch WHERE received_at < now() - interval '1 day' ORDER BY received_at LIMIT :limit
       ) RETURNING batch_id`,
      { limit },
    );
    return rows.length;
  }

  /** Deletes days older than `keptDays`, oldest first. @returns how many were deleted */
  async deleteOldDays(keptDays: number, limit: number): Promise<number> {
    const rows = await this.worker.query(
      `DELETE FROM api_key_usage WHERE (key_id, day) IN (
         SELECT key_id, day FROM api_key_usage WHERE day <= (now() AT TIME ZONE 'UTC')::date - :keptDays::integer
         ORDER BY day LIMIT :limit
       ) RETURNING key_id`,
      { keptDays, limit },
    );
    return rows.length;
  }
}
