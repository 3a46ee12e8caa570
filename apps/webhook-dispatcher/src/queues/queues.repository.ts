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

/** Counts across tenants; in SQL because the partial index over open deliveries serves only these conditions. */
@Injectable()
export class QueuesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Counts open deliveries, up to 100,000; the oldest is exact. */
  async countOpen(): Promise<OpenCounts> {
    const [counts] = await this.worker.query<OpenCounts>(
      `SELECT (count(*) FILTER (WHERE due_at <= now()))::int AS due,
              (count(*) FILTER (WHERE due_at > now()))::int AS scheduled,
              extract(epoch FROM now() - min(due_at) FILTER (WHERE due_at <= now()))::int AS "oldestDueSeconds"
       FROM (SELECT due_at FROM delivery WHERE status IN ('pending', 'retrying') LIMIT ${MAX_COUNTED}) open`,
    );
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
