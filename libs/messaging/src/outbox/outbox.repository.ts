import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import type { EncodedMessage } from './outbox-message.js';

/** A transaction with a hook after its commit: tenant and worker transactions have one. */
export type OutboxTransaction = SqlExecutor & { afterCommit(callback: () => void): void };

export interface OutboxRow extends EncodedMessage {
  /** A bigint as text. */
  seq: string;
  createdAt: Date;
}

export interface LeasedBatch {
  leaseId: string;
  rows: OutboxRow[];
  /** True when the batch has the requested size: there are probably more rows. */
  full: boolean;
  /** True when another relay has leased aggregates, or some are delayed: rows of these were left out, if there are any. */
  contended: boolean;
  /** On the clock of `performance.now()`. */
  expiresAt: number;
}

/** An aggregate whose rows are not published for a while. */
export interface AggregateDelay {
  aggregateId: string;
  seconds: number;
}

/** The payloads are the lines of one text: JSON has no line breaks, while an array would have each of its quotes escaped. */
const INSERT = `
  INSERT INTO outbox (id, aggregate_id, subject, payload)
  SELECT id, aggregate_id, subject, payload
  FROM ROWS FROM (unnest($1::uuid[]), unnest($2::text[]), unnest($3::text[]), string_to_table($4, E'\\n'))
    WITH ORDINALITY AS m(id, aggregate_id, subject, payload, n)
  ORDER BY n`;

/** Serializes the leases of all relays on one schema, a few milliseconds each. */
const LEASE_LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('rmm.outbox.' || current_schema(), 0))`;

/**
 * Leases the oldest rows, without the aggregates that another relay has leased or that are delayed.
 * It runs under the lock, so it sees every earlier lease; rows and their lease are deleted together, in SETTLE.
 * The result has one row at least, which has no `seq` when there is nothing to lease.
 */
const LEASE = `
  WITH expired AS (
    DELETE FROM outbox_lease WHERE leased_until <= now()
  ), leased AS MATERIALIZED (
    SELECT unnest(aggregates) AS aggregate_id FROM outbox_lease WHERE leased_until > now()
  ), head AS MATERIALIZED (
    SELECT seq, created_at, id, aggregate_id, subject, payload
    FROM outbox
    WHERE aggregate_id NOT IN (SELECT aggregate_id FROM leased)
    ORDER BY seq
    LIMIT $1
  ), added AS (
    INSERT INTO outbox_lease (lease_id, aggregates, leased_until)
    SELECT $2, array_agg(DISTINCT aggregate_id), clock_timestamp() + make_interval(secs => $3) FROM head HAVING count(*) > 0
  )
  SELECT contended, seq, created_at AS "createdAt", id, aggregate_id AS "aggregateId", subject, payload
  FROM (SELECT EXISTS (SELECT FROM leased) AS contended) others LEFT JOIN head ON true
  ORDER BY seq`;

const SETTLE = `
  WITH published AS (
    DELETE FROM outbox WHERE seq = any($1::bigint[]) AND created_at BETWEEN $2 AND $3
  ), freed AS (
    DELETE FROM outbox_lease WHERE lease_id = $4
  )
  INSERT INTO outbox_lease (lease_id, aggregates, leased_until)
  SELECT gen_random_uuid(), ARRAY[aggregate_id], clock_timestamp() + make_interval(secs => seconds)
  FROM unnest($5::text[], $6::float8[]) AS delay(aggregate_id, seconds)`;

/** Queries of `outbox` and `outbox_lease`. The relay uses the worker login: the tables have no tenant. */
@Injectable()
export class OutboxRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Inserts messages with one statement, in the order given. */
  async insert(tx: OutboxTransaction, messages: readonly EncodedMessage[]): Promise<void> {
    await tx.query(INSERT, [
      messages.map(({ id }) => id),
      messages.map(({ aggregateId }) => aggregateId),
      messages.map(({ subject }) => subject),
      messages.map(({ payload }) => payload).join('\n'),
    ]);
  }

  /** Takes the rows at the head of the outbox, whole aggregates at a time, in one short transaction. */
  async lease(batchSize: number, leaseMs: number): Promise<LeasedBatch> {
    const leaseId = randomUUID();
    const lease = { sql: LEASE, params: [batchSize, leaseId, leaseMs / 1_000] };
    const [, result] = await this.worker.queryAllInTransaction([{ sql: LEASE_LOCK }, lease]);
    const found = result as unknown as (OutboxRow & { contended: boolean })[];
    const rows = found.filter(({ seq }) => seq !== null);
    const full = rows.length >= batchSize;
    return { leaseId, rows, full, contended: found[0].contended, expiresAt: performance.now() + leaseMs };
  }

  /** Ends a lease: deletes the published rows, delays the given aggregates and frees the others. */
  async settle(leaseId: string, published: readonly OutboxRow[], delays: readonly AggregateDelay[]): Promise<void> {
    const [from, to] = bounds(published.map((row) => row.createdAt.getTime()));
    await this.worker.query(SETTLE, [
      published.map((row) => row.seq),
      new Date(from),
      new Date(to),
      leaseId,
      delays.map((delay) => delay.aggregateId),
      delays.map((delay) => delay.seconds),
    ]);
  }

  /** Returns the age of the oldest row in seconds; 0 when the outbox is empty. */
  async oldestSeconds(): Promise<number> {
    const [row] = await this.worker.query<{ seconds: number | null }>(
      `SELECT extract(epoch FROM clock_timestamp() - (SELECT created_at FROM outbox ORDER BY seq LIMIT 1))::float8 AS seconds`,
    );
    return Math.max(0, row.seconds ?? 0);
  }

  async dropEmptyPartitions(): Promise<void> {
    await this.worker.query('SELECT rmm_drop_empty_outbox_partitions()');
  }
}

/** Returns the time range of the rows, a second wider on both sides since the driver truncates microseconds. */
function bounds(times: readonly number[]): [number, number] {
  let [from, to] = [times[0] ?? 0, times[0] ?? 0];
  for (const time of times) {
    if (time < from) from = time;
    if (time > to) to = time;
  }
  return [from - 1_000, to + 1_000];
}
