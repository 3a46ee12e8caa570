import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import type { DispatcherReplica } from '../replicas/dispatcher-replica.entity.js';

export interface OpenCounts {
  due: number;
  scheduled: number;
  oldestDueSeconds: number | null;
}

export type Replica = Pick<DispatcherReplica, 'id' | 'startedAt' | 'heartbeatAt'> & { partitions: number };

/** Bounds the cost of a count. */
const MAX_COUNTED = 100_000;

const OPEN = `d.status IN ('pending', 'retrying')`;

/**
 * Reads each webhook with open deliveries once, by the partial index over them: one range for what is due and one for
 * what is not, however many rows there are.
 */
const COUNT_OPEN = `
  WITH RECURSIVE open_webhook AS (
    (SELECT d.webhook_id FROM delivery d WHERE ${OPEN} ORDER BY d.webhook_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.webhook_id FROM delivery d WHERE ${OPEN} AND d.webhook_id > o.webhook_id
            ORDER BY d.webhook_id LIMIT 1)
    FROM open_webhook o WHERE o.webhook_id IS NOT NULL
  ), found AS MATERIALIZED (
    SELECT webhook_id FROM open_webhook WHERE webhook_id IS NOT NULL
  )
  SELECT (SELECT count(*)::int
          FROM (SELECT FROM found f
                CROSS JOIN LATERAL (SELECT FROM delivery d WHERE d.webhook_id = f.webhook_id AND ${OPEN}
                                    AND d.due_at <= now()) due LIMIT ${MAX_COUNTED}) counted) AS due,
         (SELECT count(*)::int
          FROM (SELECT FROM found f
                CROSS JOIN LATERAL (SELECT FROM delivery d WHERE d.webhook_id = f.webhook_id AND ${OPEN}
                                    AND d.due_at > now()) later LIMIT ${MAX_COUNTED}) counted) AS scheduled,
         (SELECT extract(epoch FROM now() - min(first.due_at))::int
          FROM found f
          CROSS JOIN LATERAL (SELECT min(d.due_at) AS due_at FROM delivery d
                              WHERE d.webhook_id = f.webhook_id AND ${OPEN} AND d.due_at <= now()) first)
           AS "oldestDueSeconds"`;

/** Counts across tenants; in SQL because the partial index over open deliveries serves only these conditions. */
@Injectable()
export class QueuesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Counts due and scheduled deliveries, each up to 100,000. The age of the oldest due one is exact. */
  async countOpen(): Promise<OpenCounts> {
    const [counts] = await this.worker.query<OpenCounts>(COUNT_OPEN);
    return counts ?? { due: 0, scheduled: 0, oldestDueSeconds: null };
  }

  /** Lists the running replicas, oldest first. */
  listReplicas(): Promise<Replica[]> {
    return this.worker.query<Replica>(
      `SELECT r.id, r.started_at AS "startedAt", r.heartbeat_at AS "heartbeatAt",
              (SELECT count(*)::int FROM delivery_partition p WHERE p.owner = r.id) AS partitions
       FROM dispatcher_replica r
       ORDER BY r.started_at, r.id`,
    );
  }

  async countDeadLetters(): Promise<number> {
    const [row] = await this.worker.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM (SELECT FROM dead_letter LIMIT ${MAX_COUNTED}) letters`,
    );
    return row?.count ?? 0;
  }
}
