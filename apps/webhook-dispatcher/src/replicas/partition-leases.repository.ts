import { Injectable } from '@nestjs/common';
import { type DatabaseSession, WorkerDatabase } from '@rmm/persistence';

/** The class of the advisory locks of replicas. */
const LOCK_CLASS = 0x726d6d;

export interface ReplicaState {
  id: string;
  isLeaving: boolean;
  /** True while its session exists: false within milliseconds of the death of its process. */
  hasSession: boolean;
  /** Seconds since its last heartbeat, by the clock of the database. */
  heartbeatAge: number;
}

export interface PartitionOwner {
  partition: number;
  owner: string | null;
  epoch: number;
}

/** Statements of the lease manager, which run on a session of its own: bulk work of the pool never delays a heartbeat. */
@Injectable()
export class PartitionLeasesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** @throws DatabaseConnectionLost, as all methods */
  openSession(): Promise<DatabaseSession> {
    return this.worker.openSession('leases');
  }

  async register(session: DatabaseSession, id: string): Promise<void> {
    await session.query('INSERT INTO dispatcher_replica (id) VALUES (:id) ON CONFLICT DO NOTHING', { id });
  }

  /** Takes the lock that shows that this process runs. @returns false while an earlier session of it still has the lock */
  async lockSession(session: DatabaseSession, id: string): Promise<boolean> {
    const [row] = await session.query<{ locked: boolean }>(
      `SELECT pg_try_advisory_lock(${LOCK_CLASS}, session_key) AS locked FROM dispatcher_replica WHERE id = :id`,
      { id },
    );
    return row?.locked ?? false;
  }

  /** @returns false when another replica has removed this one */
  async heartbeat(session: DatabaseSession, id: string): Promise<boolean> {
    const rows = await session.query(
      'UPDATE dispatcher_replica SET heartbeat_at = clock_timestamp() WHERE id = :id RETURNING id',
      { id },
    );
    return rows.length > 0;
  }

  listReplicas(session: DatabaseSession): Promise<ReplicaState[]> {
    return session.query<ReplicaState>(
      `SELECT r.id, r.is_leaving AS "isLeaving",
              extract(epoch FROM clock_timestamp() - r.heartbeat_at)::float8 AS "heartbeatAge",
              EXISTS (SELECT FROM pg_locks l JOIN pg_database b ON b.oid = l.database
                      WHERE b.datname = current_database() AND l.locktype = 'advisory' AND l.classid = ${LOCK_CLASS}
                        AND l.objid = r.session_key AND l.granted) AS "hasSession"
       FROM dispatcher_replica r`,
    );
  }

  listOwners(session: DatabaseSession): Promise<PartitionOwner[]> {
    return session.query<PartitionOwner>('SELECT partition, owner, epoch FROM delivery_partition');
  }

  /** Removes replicas that died; their partitions may be claimed at once. */
  async remove(session: DatabaseSession, ids: readonly string[]): Promise<void> {
    await session.query(
      `WITH removed AS (DELETE FROM dispatcher_replica WHERE id = ANY(:ids::uuid[]) RETURNING id)
       UPDATE delivery_partition SET owner = NULL, epoch = epoch + 1 WHERE owner IN (SELECT id FROM removed)`,
      { ids },
    );
  }

  /** Claims up to `limit` partitions without an owner; replicas that claim at the same time get different ones. */
  async claim(session: DatabaseSession, id: string, limit: number): Promise<number> {
    const rows = await session.query(
      `UPDATE delivery_partition p SET owner = :id, epoch = p.epoch + 1
       FROM (SELECT partition FROM delivery_partition
             WHERE owner IS NULL OR NOT EXISTS (SELECT FROM dispatcher_replica r WHERE r.id = owner)
             ORDER BY partition LIMIT :limit FOR UPDATE SKIP LOCKED) free
       WHERE p.partition = free.partition
       RETURNING p.partition`,
      { id, limit },
    );
    return rows.length;
  }

  async release(session: DatabaseSession, id: string, partitions: readonly number[]): Promise<void> {
    await session.query(
      `UPDATE delivery_partition SET owner = NULL, epoch = epoch + 1
       WHERE owner = :id AND partition = ANY(:partitions::smallint[])`,
      { id, partitions },
    );
  }

  /** Announces that this replica gives its partitions away, so that the others count without it. */
  async setLeaving(session: DatabaseSession, id: string): Promise<void> {
    await session.query('UPDATE dispatcher_replica SET is_leaving = true WHERE id = :id', { id });
  }

  async unregister(session: DatabaseSession, id: string): Promise<void> {
    await this.remove(session, [id]);
  }
}
