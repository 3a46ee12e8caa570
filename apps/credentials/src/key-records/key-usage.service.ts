import { Injectable } from '@nestjs/common';
import type { KeyUsageRequest, KeyUse } from '@rmm/contracts';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';

const TABLE = { api_key: 'api_key', partner_key: 'partner_principal_key' } as const;
/** Uses of an API key are counted for the key they were made with: a rotation starts at nothing. */
const SAME_GENERATION = { api_key: 'AND k.generation = u.generation', partner_key: '' } as const;

/** In order of id, so that two batches of the same keys never wait for each other in a circle. */
const count = (kind: KeyUse['kind']) => `
  WITH u AS (
    SELECT * FROM unnest($1::uuid[], $2::integer[], $3::bigint[], $4::timestamptz[])
      AS u(id, generation, count, last_used_at)
  ), locked AS (
    SELECT id FROM ${TABLE[kind]} WHERE id IN (SELECT id FROM u) ORDER BY id FOR UPDATE
  )
  UPDATE ${TABLE[kind]} k SET usage_count = k.usage_count + u.count,
    last_used_at = greatest(k.last_used_at, u.last_used_at)
  FROM u JOIN locked USING (id) WHERE k.id = u.id ${SAME_GENERATION[kind]} RETURNING k.id`;

const COUNT_DAYS = `
  INSERT INTO api_key_usage AS d (key_id, partner_id, org_id, day, count)
  SELECT k.id, k.partner_id, k.org_id, u.day, sum(u.count)
  FROM unnest($1::uuid[], $2::bigint[], $3::date[]) AS u(id, count, day) JOIN api_key k ON k.id = u.id
  GROUP BY k.id, u.day ORDER BY k.id, u.day
  ON CONFLICT (key_id, day) DO UPDATE SET count = d.count + excluded.count`;

/** The counters of the use of keys, fed in batches by the key doors of all services. */
@Injectable()
export class KeyUsageService {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Adds a batch of uses, once however often it comes. @returns how many keys were touched */
  record({ batchId, uses }: KeyUsageRequest): Promise<number> {
    return this.worker.transaction(async (tx) => {
      const first = await tx.query(
        'INSERT INTO key_usage_batch (batch_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING batch_id',
        [batchId],
      );
      if (first.length === 0) return 0;
      const apiKeys = await this.add(tx, 'api_key', uses);
      return apiKeys + (await this.add(tx, 'partner_key', uses));
    });
  }

  private async add(tx: WorkerTransaction, kind: KeyUse['kind'], uses: readonly KeyUse[]): Promise<number> {
    const batch = uses.filter((use) => use.kind === kind).sort((a, b) => (a.keyId < b.keyId ? -1 : 1));
    if (batch.length === 0) return 0;
    const [ids, counts] = [batch.map((use) => use.keyId), batch.map((use) => use.count)];
    const rows = await tx.query(count(kind), [
      ids,
      batch.map((use) => use.generation),
      counts,
      batch.map((use) => use.lastUsedAt),
    ]);
    // by the day in UTC, whatever the database's own zone
    if (kind === 'api_key') await tx.query(COUNT_DAYS, [ids, counts, batch.map((use) => use.lastUsedAt.slice(0, 10))]);
    return rows.length;
  }
}
