import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

@Injectable()
export class InstanceLeaseRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  async insert(id: string, leaseSeconds: number): Promise<void> {
    await this.worker.query(
      `INSERT INTO dispatcher_instance (id, lease_until) VALUES (:id, now() + make_interval(secs => :leaseSeconds))`,
      { id, leaseSeconds },
    );
  }

  /** @returns whether the lease was still stored */
  async renew(id: string, leaseSeconds: number): Promise<boolean> {
    const rows = await this.worker.query(
      `UPDATE dispatcher_instance SET lease_until = now() + make_interval(secs => :leaseSeconds)
       WHERE id = :id RETURNING id`,
      { id, leaseSeconds },
    );
    return rows.length > 0;
  }

  async setLeaving(id: string): Promise<void> {
    await this.worker.query('UPDATE dispatcher_instance SET is_leaving = true WHERE id = :id', { id });
  }

  /**
   * Deletes the instance and releases its deliveries and shards in one statement.
   * @param busyShards  shards that become free `busySeconds` later than the others
   */
  async delete(id: string, busyShards: readonly number[], busySeconds: number): Promise<void> {
    await this.worker.query(
      `WITH deleted AS (
         DELETE FROM dispatcher_instance WHERE id = :id
       ), freed AS (
         UPDATE delivery_shard
         SET owner = NULL,
             free_at = CASE WHEN shard = ANY(:busyShards::smallint[]) THEN now() + make_interval(secs => :busySeconds)
                            ELSE free_at END
         WHERE owner = :id
       )
       UPDATE delivery SET lease_owner = NULL, due_at = least(due_at, now())
       WHERE lease_owner = :id AND lease_owner <> org_id`,
      { id, busyShards, busySeconds },
    );
  }
}
