import type { Envelope } from '@rmm/contracts';
import type { WorkerDatabase, WorkerTransaction } from '@rmm/persistence';
import { currentConsumer } from '../context/message-context.js';

/**
 * The row's partition follows from the message alone, so that a repeat meets the first one's key whenever it comes.
 * What is older than any stream keeps shares one row range of its own.
 */
const REMEMBER = `
  insert into inbox (consumer, message_id, message_at)
  values ($1, $2, case when $3::timestamptz between now() - interval '30 days' and now() + interval '2 days'
                       then $3::timestamptz else 'epoch'::timestamptz end)
  on conflict do nothing
  returning 1 as first`;

/** Makes an effect happen once, however often its message comes. */
export class Inbox {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly service: string,
  ) {}

  /**
   * Runs `work` in a worker transaction together with the note that this message was handled: both stay, or neither.
   * @param effect  tells two effects of one message apart when two handlers of a service hear it
   * @returns what `work` returned, or undefined when the message was handled before
   */
  once<T>(envelope: Envelope, work: (tx: WorkerTransaction) => Promise<T>, effect?: string): Promise<T | undefined> {
    const consumer = currentConsumer() ?? this.service;
    const key = effect === undefined ? consumer : `${consumer}/${effect}`;
    return this.worker.transaction(async (tx) => {
      const noted = await tx.query(REMEMBER, [key, envelope.id, envelope.timestamp]);
      return noted.length === 0 ? undefined : work(tx);
    });
  }
}
