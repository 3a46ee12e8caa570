import type { WorkerDatabase } from '@rmm/persistence';
import type { EncodedMessage } from './encode-message.js';

export interface OutboxRow extends EncodedMessage {
  /** A bigint as text. */
  seq: string;
  createdAt: Date;
}

export interface LeasedBatch {
  rows: OutboxRow[];
  /** The head held as many rows as were asked for: there is probably more. */
  full: boolean;
  /** On the clock of `performance.now()`. */
  expiresAt: number;
}

/** Relays of one schema take their leases one after the other: a few milliseconds each, and none sees half of another's. */
const LEASE_LOCK = `select pg_advisory_xact_lock(hashtextextended('rmm.outbox.' || current_schema(), 0))`;

/**
 * The head of the outbox without the aggregates somebody works on or that must wait; these aggregates become ours.
 * The key of outbox_lease is what keeps an aggregate with one relay, the lock only saves the conflict.
 */
const LEASE = `
  with head as materialized (
    select o.seq, o.aggregate_id
    from outbox o
    where not exists (
      select from outbox_lease l where l.aggregate_id = o.aggregate_id and l.leased_until > now()
    )
    order by o.seq
    limit $1
  )
  insert into outbox_lease as l (aggregate_id, relay_id, leased_until)
  select aggregate_id, $2, clock_timestamp() + make_interval(secs => $3)
  from head group by aggregate_id order by aggregate_id
  on conflict (aggregate_id) do update
    set relay_id = excluded.relay_id, leased_until = excluded.leased_until
    where l.leased_until <= now()
  returning aggregate_id, (select max(seq) from head) as last, (select count(*) from head) as found`;

/** A statement of its own, so that it sees what was deleted while the lease was waited for. */
const READ = `
  select seq, created_at as "createdAt", id, aggregate_id as "aggregateId", subject, payload
  from outbox
  where seq <= $1 and aggregate_id = any($2)
  order by seq`;

const DONE = `
  with published as (
    delete from outbox where seq = any($1::bigint[]) and created_at between $2 and $3
  )
  delete from outbox_lease where relay_id = $4 and aggregate_id = any($5)`;

/** A second failure of the same aggregate waits twice as long, up to a minute. */
const HOLD = `
  update outbox_lease
  set failures = failures + 1, leased_until = now() + make_interval(secs => least(60, 0.5 * 2 ^ least(failures, 10)))
  where relay_id = $1 and aggregate_id = any($2)`;

/** The SQL of the relay; worker login. */
export class OutboxStore {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly relayId: string,
  ) {}

  /** Takes the aggregates at the head of the outbox, in one short transaction. */
  lease(batchSize: number, leaseMs: number): Promise<LeasedBatch> {
    return this.worker.run(async (tx) => {
      await tx.query(LEASE_LOCK);
      const expiresAt = performance.now() + leaseMs;
      const leased = await tx.query<{ aggregate_id: string; last: string; found: string }>(LEASE, [
        batchSize,
        this.relayId,
        leaseMs / 1_000,
      ]);
      if (leased.length === 0) return { rows: [], full: false, expiresAt };
      const aggregates = leased.map((row) => row.aggregate_id);
      const rows = await tx.query<OutboxRow>(READ, [leased[0].last, aggregates]);
      return { rows, full: Number(leased[0].found) >= batchSize, expiresAt };
    });
  }

  /** Rows that reached NATS go, and with them the leases of `aggregates`. */
  async done(rows: readonly OutboxRow[], aggregates: readonly string[]): Promise<void> {
    if (rows.length === 0 && aggregates.length === 0) return;
    const times = rows.map((row) => row.createdAt.getTime());
    const [from, to] = rows.length === 0 ? [0, 0] : bounds(times);
    await this.worker.query(DONE, [rows.map((row) => row.seq), new Date(from), new Date(to), this.relayId, aggregates]);
  }

  /** Nobody publishes these aggregates until their wait is over. */
  async hold(aggregates: readonly string[]): Promise<void> {
    if (aggregates.length > 0) await this.worker.query(HOLD, [this.relayId, aggregates]);
  }

  /** Age of the oldest row in seconds; 0 when the outbox is empty. */
  async oldestSeconds(): Promise<number> {
    const [row] = await this.worker.query<{ seconds: number | null }>(
      `select extract(epoch from clock_timestamp() - (select created_at from outbox order by seq limit 1))::float8 as seconds`,
    );
    return Math.max(0, row.seconds ?? 0);
  }

  async dropEmptyPartitions(): Promise<void> {
    await this.worker.query('select rmm_drop_empty_outbox_partitions()');
  }
}

/** A second wider on both sides: the driver cuts microseconds off. */
function bounds(times: readonly number[]): [number, number] {
  let [from, to] = [times[0], times[0]];
  for (const time of times) {
    if (time < from) from = time;
    if (time > to) to = time;
  }
  return [from - 1_000, to + 1_000];
}
