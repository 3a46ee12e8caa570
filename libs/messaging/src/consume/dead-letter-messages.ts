import type { SqlExecutor, WorkerDatabase } from '@rmm/persistence';

/** A message nobody could handle, kept until somebody replays or drops it. */
export interface DeadLetterMessage {
  id: string;
  consumer: string;
  subject: string;
  messageId: string;
  payload: string;
  reason: string;
  deliveries: number;
  parkedAt: Date;
}

/** Handles one parked message again; installed by the consumer that parked it. */
export type ReplayHandler = (subject: string, payload: string) => Promise<void>;

const COLUMNS = `id, consumer, subject, message_id as "messageId", payload, reason, deliveries, parked_at as "parkedAt"`;

/** The messages this service has put aside after their deliveries were used up. */
export class DeadLetterMessages {
  private readonly handlers = new Map<string, ReplayHandler>();

  constructor(private readonly worker: WorkerDatabase) {}

  /** Keeps a message; parking it twice keeps one row with the newer reason. */
  async park(message: Omit<DeadLetterMessage, 'id' | 'parkedAt'>, db: SqlExecutor = this.worker): Promise<void> {
    await db.query(
      `insert into parked_message as p (consumer, message_id, subject, payload, reason, deliveries)
       values ($1, $2, $3, $4, $5, $6)
       on conflict (consumer, message_id) do update
         set reason = excluded.reason, deliveries = p.deliveries + excluded.deliveries, parked_at = now()`,
      [
        message.consumer,
        message.messageId,
        message.subject,
        message.payload,
        message.reason.slice(0, 1_000),
        message.deliveries,
      ],
    );
  }

  /** Oldest first. */
  list(limit = 100): Promise<DeadLetterMessage[]> {
    return this.worker.query<DeadLetterMessage>(
      `select ${COLUMNS} from parked_message order by parked_at, id limit $1`,
      [limit],
    );
  }

  async count(): Promise<number> {
    const [row] = await this.worker.query<{ count: string }>('select count(*) as count from parked_message');
    return Number(row.count);
  }

  /**
   * Handles parked messages again in the order they were parked; what succeeds is removed, what fails stays with its
   * new reason. Effects made through the inbox still happen once.
   */
  async replay(filter: { consumer?: string; limit?: number } = {}): Promise<{ replayed: number; failed: number }> {
    const rows = await this.worker.query<DeadLetterMessage>(
      `select ${COLUMNS} from parked_message where $1::text is null or consumer = $1 order by parked_at, id limit $2`,
      [filter.consumer ?? null, filter.limit ?? 1_000],
    );
    const outcome = { replayed: 0, failed: 0 };
    for (const row of rows) outcome[(await this.replayOne(row)) ? 'replayed' : 'failed'] += 1;
    return outcome;
  }

  /** Gives a parked message up for good. */
  async drop(id: string): Promise<void> {
    await this.worker.query('delete from parked_message where id = $1', [id]);
  }

  /** @param consumer  the durable whose messages `handler` understands */
  register(consumer: string, handler: ReplayHandler): void {
    this.handlers.set(consumer, handler);
  }

  private async replayOne(row: DeadLetterMessage): Promise<boolean> {
    try {
      const handler = this.handlers.get(row.consumer);
      if (!handler) throw new Error(`No consumer ${row.consumer} in this service`);
      await handler(row.subject, row.payload);
      await this.drop(row.id);
      return true;
    } catch (error) {
      await this.park({ ...row, reason: reasonOf(error), deliveries: 1 });
      return false;
    }
  }
}

/** What an operator reads: the error's class and text, never a stack. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error);
