import { Inject, Injectable } from '@nestjs/common';
import type { Envelope } from '@rmm/contracts';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { currentConsumer } from '../context/execution-context.js';
import { MESSAGING_OPTIONS, type MessagingModuleOptions } from '../messaging.options.js';

/**
 * The time comes from the message alone, so that a repetition has the same key and partition as the first delivery.
 * Messages older than any stream stores share one time.
 */
const MARK_HANDLED = `
  INSERT INTO inbox (consumer, message_id, message_at)
  VALUES ($1, $2, CASE WHEN $3::timestamptz BETWEEN now() - interval '30 days' AND now() + interval '2 days'
                       THEN $3::timestamptz ELSE 'epoch'::timestamptz END)
  ON CONFLICT DO NOTHING
  RETURNING 1 AS first`;

/** Applies the effect of a message once, however often the message is delivered. */
@Injectable()
export class Inbox {
  constructor(
    private readonly worker: WorkerDatabase,
    @Inject(MESSAGING_OPTIONS) private readonly options: Pick<MessagingModuleOptions, 'service'>,
  ) {}

  /**
   * Runs `work` in a worker transaction that also stores that this message was handled.
   * @param effect  distinguishes the effects of one message when two handlers of a service receive it
   * @returns the result of `work`, or undefined when the message was handled before
   */
  once<T>(envelope: Envelope, work: (tx: WorkerTransaction) => Promise<T>, effect?: string): Promise<T | undefined> {
    const consumer = currentConsumer() ?? this.options.service;
    const key = effect === undefined ? consumer : `${consumer}/${effect}`;
    return this.worker.transaction(async (tx) => {
      const inserted = await tx.query(MARK_HANDLED, [key, envelope.id, envelope.timestamp]);
      return inserted.length === 0 ? undefined : work(tx);
    });
  }
}
