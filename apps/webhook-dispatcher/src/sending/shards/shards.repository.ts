import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

export interface ShardsState {
  /** The owner of each shard. */
  owners: (string | null)[];
  /** Instances with a valid lease, including those that are shutting down. */
  alive: ReadonlySet<string>;
  /** Instances with a valid lease that are not shutting down. */
  willing: string[];
}

@Injectable()
export class ShardsRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  async getState(): Promise<ShardsState> {
    const [row] = await this.worker.query<{ owners: (string | null)[]; alive: string[]; willing: string[] }>(
      `SELECT ARRAY(SELECT owner FROM delivery_shard ORDER BY shard) AS owners,
              ARRAY(SELECT id FROM dispatcher_instance WHERE lease_until >= now()) AS alive,
              ARRAY(SELECT id FROM dispatcher_instance WHERE lease_until >= now() AND NOT is_leaving) AS willing`,
    );
    if (!row) throw new Error('A row of subqueries was not returned');
    return { owners: row.owners, alive: new Set(row.alive), willing: row.willing };
  }

  /**
   * Acquires shards without an owner, or whose owner's lease has expired. The stored owner must still be the one that was
   * read: of two instances one acquires the shard, and never from an owner whose lease is valid.
   * @param seen  the owner each of them had in `getState`
   * @returns the acquired shards
   */
  async acquire(me: string, shards: readonly number[], seen: readonly (string | null)[]): Promise<number[]> {
    if (shards.length === 0) return [];
    const rows = await this.worker.query<{ shard: number }>(
      `WITH dead AS (
         DELETE FROM dispatcher_instance WHERE lease_until < now() AND id <> $1 RETURNING id
       )
       UPDATE delivery_shard s SET owner = $1
         FROM unnest($2::smallint[], $3::uuid[]) AS k(shard, owner)
        WHERE s.shard = k.shard AND s.owner IS NOT DISTINCT FROM k.owner AND s.free_at <= now()
          AND (s.owner IS NULL OR s.owner IN (SELECT id FROM dead)
               OR NOT EXISTS (SELECT FROM dispatcher_instance i WHERE i.id = s.owner))
        RETURNING s.shard`,
      [me, shards, seen],
    );
    return rows.map(({ shard }) => shard);
  }

  /** Releases shards that have no attempt in flight; others may acquire them at once. */
  async release(me: string, shards: readonly number[]): Promise<void> {
    if (shards.length === 0) return;
    await this.worker.query('UPDATE delivery_shard SET owner = NULL WHERE owner = $1 AND shard = ANY($2::smallint[])', [
      me,
      shards,
    ]);
  }
}
