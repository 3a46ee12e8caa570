import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

const CHUNK = 1_000;
/** Time for which replicas find a deletion when they load changes. */
const LISTED = `interval '1 minute'`;

/**
 * The oldest rows first. The range of their times leaves out the partitions of other days, which PostgreSQL would read for a
 * join.
 */
const PURGE_DELIVERIES = `
  WITH picked AS MATERIALIZED (
    SELECT id, created_at FROM delivery WHERE webhook_id = :webhookId ORDER BY created_at, id LIMIT ${CHUNK}
  ), attempts AS (
    DELETE FROM attempt
    WHERE created_at BETWEEN (SELECT min(created_at) FROM picked) AND (SELECT max(created_at) FROM picked)
      AND delivery_id = ANY (ARRAY(SELECT id FROM picked))
  )
  DELETE FROM delivery
  WHERE created_at BETWEEN (SELECT min(created_at) FROM picked) AND (SELECT max(created_at) FROM picked)
    AND id = ANY (ARRAY(SELECT id FROM picked))
  RETURNING 1`;

const PURGE_DEAD_LETTERS = `
  WITH picked AS MATERIALIZED (
    SELECT delivery_id, failed_at FROM dead_letter WHERE webhook_id = :webhookId ORDER BY failed_at LIMIT ${CHUNK}
  )
  DELETE FROM dead_letter
  WHERE failed_at BETWEEN (SELECT min(failed_at) FROM picked) AND (SELECT max(failed_at) FROM picked)
    AND delivery_id = ANY (ARRAY(SELECT delivery_id FROM picked))
  RETURNING 1`;

/** Deletes the history of deleted webhooks in short statements. */
@Injectable()
export class PurgeRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  async listDeleted(): Promise<string[]> {
    const rows = await this.worker.query<{ id: string }>(
      'SELECT webhook_id AS id FROM deleted_webhook ORDER BY deleted_at LIMIT 1000',
    );
    return rows.map(({ id }) => id);
  }

  /** Deletes the next dead letters, or deliveries with their attempts. @returns whether more may be left */
  async purgeChunk(webhookId: string): Promise<boolean> {
    const letters = await this.worker.query(PURGE_DEAD_LETTERS, { webhookId });
    if (letters.length === CHUNK) return true;
    const deliveries = await this.worker.query(PURGE_DELIVERIES, { webhookId });
    return deliveries.length === CHUNK;
  }

  /** Deletes what is left of a webhook without history. The deletion itself stays listed for a minute. */
  async finish(webhookId: string): Promise<void> {
    await this.worker.query('DELETE FROM webhook_recovery WHERE webhook_id = :webhookId', { webhookId });
    await this.worker.query('DELETE FROM request_shape WHERE webhook_id = :webhookId', { webhookId });
    await this.worker.query(
      `DELETE FROM deleted_webhook WHERE webhook_id = :webhookId AND deleted_at < now() - ${LISTED}`,
      { webhookId },
    );
  }
}
