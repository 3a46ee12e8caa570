import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

export interface ShardsState {
  /** By shard. */
  owners: (string | null)[];
  /** Processes whose lease stands, those that are about to stop among them. */
  alive: ReadonlySet<string>;
  /** Those of them that may own shards. */
  willing: string[];
}

/** Who owns which shard. */
@Injectable()
export class ShardsRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  async state(): Promise<ShardsState> {
    const [row] = await this.worker.query<{ owners: (string | null)[]; alive: string[]; willing: string[] }>(
      `select array(select owner from delivery_shard order by shard) as owners,
              array(select id from dispatcher_instance where lease_until >= now()) as alive,
              array(select id from dispatcher_instance where lease_until >= now() and not is_leaving) as willing`,
    );
    if (!row) throw new Error('A row of subqueries has not come');
    return { owners: row.owners, alive: new Set(row.alive), willing: row.willing };
  }

  /**
   * Takes shards nobody owns, or whose owner's lease has lapsed. The owner that was seen must still stand there: of two
   * that take at the same time one gets it, and nobody takes from one that lives.
   * @param seen  the owner each of them had in `state`
   * @returns those that are ours now
   */
  async take(me: string, shards: readonly number[], seen: readonly (string | null)[]): Promise<number[]> {
    if (shards.length === 0) return [];
    const rows = await this.worker.query<{ shard: number }>(
      `with dead as (
         delete from dispatcher_instance where lease_until < now() and id <> $1 returning id
       )
       update delivery_shard s set owner = $1
         from unnest($2::smallint[], $3::uuid[]) as k(shard, owner)
        where s.shard = k.shard and s.owner is not distinct from k.owner and s.free_at <= now()
          and (s.owner is null or s.owner in (select id from dead)
               or not exists (select from dispatcher_instance i where i.id = s.owner))
        returning s.shard`,
      [me, shards, seen],
    );
    return rows.map(({ shard }) => shard);
  }

  /** Others may take them at once: nothing of ours is under way to their origins. */
  async giveUp(me: string, shards: readonly number[]): Promise<void> {
    if (shards.length === 0) return;
    await this.worker.query('update delivery_shard set owner = null where owner = $1 and shard = any($2::smallint[])', [
      me,
      shards,
    ]);
  }
}
