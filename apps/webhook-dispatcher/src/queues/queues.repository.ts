import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { OPEN_DAYS } from '../sending/claims.repository.js';
import type { DispatcherInstance } from '../sending/dispatcher-instance.entity.js';

export interface WaitingCounts {
  due: number;
  scheduled: number;
  oldestDueSeconds: number | null;
}

export type Replica = Pick<DispatcherInstance, 'id' | 'startedAt' | 'leaseUntil'> & { leased: number };

const OPEN = `status IN ('pending', 'retrying') AND created_at > now() - interval '${OPEN_DAYS} days'`;

/** Counts across tenants; in SQL because the partial indexes over open deliveries serve only these conditions. */
@Injectable()
export class QueuesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  async countWaiting(): Promise<WaitingCounts> {
    const [counts] = await this.worker.query<WaitingCounts>(
      `SELECT (count(*) FILTER (WHERE due_at <= now()))::int AS due,
              (count(*) FILTER (WHERE due_at > now()))::int AS scheduled,
              extract(epoch FROM now() - min(due_at) FILTER (WHERE due_at <= now()))::int AS "oldestDueSeconds"
       FROM delivery WHERE lease_owner IS NULL AND ${OPEN}`,
    );
    return counts ?? { due: 0, scheduled: 0, oldestDueSeconds: null };
  }

  /** Lists the running replicas, oldest first. */
  listReplicas(): Promise<Replica[]> {
    return this.worker.query<Replica>(
      `SELECT i.id, i.started_at AS "startedAt", i.lease_until AS "leaseUntil", coalesce(l.leased, 0)::int AS leased
       FROM dispatcher_instance i
       LEFT JOIN (
         SELECT lease_owner, count(*) AS leased FROM delivery
         WHERE lease_owner IS NOT NULL AND created_at > now() - interval '${OPEN_DAYS} days' GROUP BY lease_owner
       ) l ON l.lease_owner = i.id
       ORDER BY i.started_at, i.id`,
    );
  }

  async countDeadLetters(): Promise<number> {
    const [row] = await this.worker.query<{ count: number }>('SELECT count(*)::int AS count FROM dead_letter');
    return row?.count ?? 0;
  }
}
