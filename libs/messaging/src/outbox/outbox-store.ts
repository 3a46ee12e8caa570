import type { WorkerDatabase } from '@rmm/persistence';
import { randomUUID } from 'node:crypto';
import type { EncodedMessage } from './encode-message.js';

export interface OutboxRow extends EncodedMessage {
  /** A bigint as text. */
  seq: string;
  createdAt: Date;
}

export interface LeasedBatch {
  leaseId: string;
  rows: OutboxRow[];
  /** The head held as many rows as were asked for: there is probably more. */
  full: boolean;
  /** On the clock of `performance.now()`. */
  expiresAt: number;
}

/** An aggregate that must be left alone for a while. */
export interface Hold {
  aggregateId: string;
  seconds: number;
}

/** Relays of one schema take their leases one after the other, a few milliseconds each. */
const LEASE_LOCK = `select pg_advisory_xact_lock(hashtextextended('rmm.outbox.' || current_schema(), 0))`;

/**
 * The head of the outbox without the aggregates that somebody works on or that must wait; these aggregates become ours.
 * It runs under the lock and sees every lease taken before; rows and their lease end together, in DONE.
 */
const LEASE = `
  with expired as (
    delete from outbox_lease where leased_until <= now()
  ), head as materialized (
    select seq, created_at, id, aggregate_id, subject, payload
    from outbox
    where aggregate_id not in (select unnest(aggregates) from outbox_lease where leased_until > now())
    order by seq
    limit $1
  ), leased as (
    insert into outbox_lease (lease_id, aggregates, leased_until)
    select $2, array_agg(distinct aggregate_id), clock_timestamp() + make_interval(secs => $3) from head having count(*) > 0
  )
  select seq, created_at as "createdAt", id, aggregate_id as "aggregateId", subject, payload from head order by seq`;

const DONE = `
  with published as (
    delete from outbox where seq = any($1::bigint[]) and created_at between $2 and $3
  ), freed as (
    delete from outbox_lease where lease_id = $4
  )
  insert into outbox_lease (lease_id, aggregates, leased_until)
  select gen_random_uuid(), array[aggregate_id], clock_timestamp() + make_interval(secs => seconds)
  from unnest($5::text[], $6::float8[]) as hold(aggregate_id, seconds)`;

/** The SQL of the relay; worker login. */
export class OutboxStore {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Takes the rows at the head of the outbox, whole aggregates at a time, in one short transaction. */
  lease(batchSize: number, leaseMs: number): Promise<LeasedBatch> {
    const leaseId = randomUUID();
    return this.worker.transaction(async (tx) => {
      // sent together; both are listened to, or a lost connection would reject one with nobody there
      const lock = tx.query(LEASE_LOCK);
      const head = tx.query<OutboxRow>(LEASE, [batchSize, leaseId, leaseMs / 1_000]);
      const [, rows] = await Promise.all([lock, head]);
      return { leaseId, rows, full: rows.length >= batchSize, expiresAt: performance.now() + leaseMs };
    });
  }

  /** Ends a lease: rows that reached NATS go, the aggregates of `holds` wait, the others are free again. */
  async done(leaseId: string, published: readonly OutboxRow[], holds: readonly Hold[]): Promise<void> {
    const [from, to] = bounds(published.map((row) => row.createdAt.getTime()));
    await this.worker.query(DONE, [
      published.map((row) => row.seq),
      new Date(from),
      new Date(to),
      leaseId,
      holds.map((hold) => hold.aggregateId),
      holds.map((hold) => hold.seconds),
    ]);
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
  let [from, to] = [times[0] ?? 0, times[0] ?? 0];
  for (const time of times) {
    if (time < from) from = time;
    if (time > to) to = time;
  }
  return [from - 1_000, to + 1_000];
}
