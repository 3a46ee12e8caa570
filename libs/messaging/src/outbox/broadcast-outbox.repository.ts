import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import type { EncodedMessage } from './outbox-message.js';

/** A committed broadcast that is not sent yet. */
export interface BroadcastRow {
  /** A bigint as text. */
  seq: string;
  subject: string;
  payload: string;
}

const INSERT = `
  INSERT INTO outbox_broadcast (subject, payload)
  SELECT subject, payload FROM unnest(:subjects::text[], :payloads::text[]) WITH ORDINALITY AS m(subject, payload, n)
  ORDER BY n`;

const LEASE = `
  UPDATE outbox_broadcast SET leased_until = clock_timestamp() + make_interval(secs => :leaseSeconds)
  WHERE seq IN (SELECT seq FROM outbox_broadcast WHERE leased_until IS NULL OR leased_until <= clock_timestamp()
                ORDER BY seq LIMIT :limit FOR UPDATE SKIP LOCKED)
  RETURNING seq, subject, payload`;

/**
 * Queries of `outbox_broadcast`: broadcasts have a table of their own, so that no message of a stream delays them and
 * they delay none. Sending uses the worker login: the table has no tenant.
 */
@Injectable()
export class BroadcastOutboxRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  async insert(tx: SqlExecutor, messages: readonly EncodedMessage[]): Promise<void> {
    const subjects = messages.map(({ subject }) => subject);
    await tx.query(INSERT, { subjects, payloads: messages.map(({ payload }) => payload) });
  }

  /** Leases the oldest rows. Their order does not matter: a broadcast names what to read again, not its value. */
  async lease(limit: number, leaseMs: number): Promise<BroadcastRow[]> {
    const rows = await this.worker.query<BroadcastRow>(LEASE, { limit, leaseSeconds: leaseMs / 1_000 });
    return rows.sort((a, b) => Number(BigInt(a.seq) - BigInt(b.seq)));
  }

  async deleteSent(rows: readonly BroadcastRow[]): Promise<void> {
    await this.worker.query('DELETE FROM outbox_broadcast WHERE seq = ANY (:seqs::bigint[])', {
      seqs: rows.map(({ seq }) => seq),
    });
  }

  /** Returns the age of the oldest broadcast that is not sent, in milliseconds; 0 when none waits. */
  async oldestMs(): Promise<number> {
    const [row] = await this.worker.query<{ ms: number | null }>(
      `SELECT extract(epoch FROM clock_timestamp() - (SELECT created_at FROM outbox_broadcast ORDER BY seq LIMIT 1))::float8
         * 1000 AS ms`,
    );
    return Math.max(0, row.ms ?? 0);
  }
}
