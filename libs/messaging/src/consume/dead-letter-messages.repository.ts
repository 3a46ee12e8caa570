import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

/** A message that could not be handled, stored until it is replayed or deleted. */
export interface DeadLetterMessage {
  id: string;
  consumer: string;
  subject: string;
  messageId: string;
  payload: string;
  /** Class and text of the last error. */
  reason: string;
  deliveries: number;
  failedAt: Date;
}

const MAX_REASON = 1_000;
const COLUMNS = `id, consumer, subject, message_id AS "messageId", payload, reason, deliveries, failed_at AS "failedAt"`;

/** Queries of `dead_letter_message`. Uses the worker login: the table has no tenant. */
@Injectable()
export class DeadLetterMessagesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Stores a message; a second time it adds the deliveries and replaces the reason. */
  async save(message: Omit<DeadLetterMessage, 'id' | 'failedAt'>): Promise<void> {
    const { consumer, messageId, subject, payload, reason, deliveries } = message;
    await this.worker.query(
      `INSERT INTO dead_letter_message AS d (consumer, message_id, subject, payload, reason, deliveries)
       VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (consumer, message_id) DO UPDATE
         SET reason = excluded.reason, deliveries = d.deliveries + excluded.deliveries, failed_at = now()`,
      [consumer, messageId, subject, payload, reason.slice(0, MAX_REASON), deliveries],
    );
  }

  /** Returns the oldest messages, of one consumer or of all. */
  list({ consumer, limit = 100 }: { consumer?: string; limit?: number } = {}): Promise<DeadLetterMessage[]> {
    return this.worker.query<DeadLetterMessage>(
      `SELECT ${COLUMNS} FROM dead_letter_message
       WHERE $1::text IS NULL OR consumer = $1
       ORDER BY failed_at, id LIMIT $2`,
      [consumer ?? null, limit],
    );
  }

  async count(): Promise<number> {
    const [row] = await this.worker.query<{ count: string }>('SELECT count(*) AS count FROM dead_letter_message');
    return Number(row.count);
  }

  async delete(id: string): Promise<void> {
    await this.worker.query('DELETE FROM dead_letter_message WHERE id = $1', [id]);
  }
}
