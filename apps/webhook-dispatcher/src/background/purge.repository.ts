import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

const CHUNK = 1_000;
/** Time for which replicas find a deletion when they load changes. */
const LISTED = `interval '1 minute'`;

const PURGE_DELIVERIES = `
  WITH picked AS MATERIALIZED (
    SELECT id, created_at FROM delivery WHERE webhook_id = :webhookId ORDER BY created_at, id LIMIT ${CHUNK}
  ), attempts AS (
    DELETE FROM attempt a USING picked p WHERE a.delivery_id = p.id AND a.created_at = p.created_at
  )
  DELETE FROM delivery d USING picked p WHERE d.id = p.id AND d.created_at = p.created_at RETURNING 1`;

const PURGE_DEAD_LETTERS = `
  WITH picked AS MATERIALIZED (
    SELECT delivery_id, failed_at FROM dead_letter WHERE webhook_id = :webhookId ORDER BY failed_at LIMIT ${CHUNK}
  )
  DELETE FROM dead_letter l USING picked p WHERE l.delivery_id = p.delivery_id AND l.failed_at = p.failed_at RETURNING 1`;

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
