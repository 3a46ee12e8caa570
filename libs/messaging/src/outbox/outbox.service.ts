import { Inject, Injectable } from '@nestjs/common';
import { Clock, currentContext } from '@rmm/service-kit';
import { MESSAGING_OPTIONS, type MessagingModuleOptions } from '../messaging.options.js';
import { BroadcastOutboxRepository } from './broadcast-outbox.repository.js';
import { BroadcastRelay } from './broadcast-relay.service.js';
import { type EncodedMessage, encodeMessage, type OutgoingMessage } from './outbox-message.js';
import { OutboxRelay } from './outbox-relay.service.js';
import { OutboxRepository, type OutboxTransaction } from './outbox.repository.js';
import { YieldingRunner } from './yielding-runner.js';

export type { OutboxTransaction } from './outbox.repository.js';

/**
 * Messages and characters of one statement: it ends with the message that reaches one of these. V8 gives a string of 128 KB
 * or more memory of its own, which costs more than the shorter statement.
 */
const BATCH = 250;
const BATCH_LENGTH = 96 * 1024;

/** Statements of one call that are sent ahead: messages are built and encoded while the database writes these. */
const IN_FLIGHT = 16;

type OutgoingMessages = Iterable<OutgoingMessage> | AsyncIterable<OutgoingMessage>;

interface Encoded {
  stream: OutgoingMessage['stream'];
  encoded: EncodedMessage;
}

/** Publishes messages if, and only if, the transaction they are written in commits. */
@Injectable()
export class Outbox {
  private readonly runner = new YieldingRunner();

  constructor(
    private readonly repository: OutboxRepository,
    private readonly relay: OutboxRelay,
    private readonly broadcasts: BroadcastOutboxRepository,
    private readonly broadcastRelay: BroadcastRelay,
    private readonly clock: Clock,
    @Inject(MESSAGING_OPTIONS) private readonly options: Pick<MessagingModuleOptions, 'service'>,
  ) {}

  /**
   * Writes messages in the order given, with correlation id and trace context of the request: one statement for each 250
   * of them or 96 K characters, and for broadcasts another one. Messages of a list are built and encoded a few at a
   * time, while the database writes those before them, so that a long list does not block the event loop. Audit entries
   * alone are published a little later and together: a read or a denial writes one, and nothing waits for it.
   * @throws TypeError, RangeError  for a message that can never be published; the transaction should then fail
   */
  async publish(tx: OutboxTransaction, message: OutgoingMessage | OutgoingMessages): Promise<void> {
    const messages = 'stream' in message ? [message] : message;
    const now = this.clock.now();
    const context = currentContext();
    const encode = (each: OutgoingMessage) => encodeMessage(this.options.service, each, context, now);
    const broadcasts: EncodedMessage[] = [];
    const written: Promise<void>[] = [];
    try {
      for await (const batch of this.batchesOf(messages, encode)) {
        const stored = batch.filter(({ stream }) => stream !== 'broadcast');
        broadcasts.push(...batch.filter(({ stream }) => stream === 'broadcast').map(({ encoded }) => encoded));
        if (stored.length === 0) continue;
        await written.at(-IN_FLIGHT);
        const inserted = this.repository.insert(
          tx,
          stored.map(({ encoded }) => encoded),
        );
        inserted.catch(() => undefined); // thrown below, or before a later set
        written.push(inserted);
        tx.afterCommit(stored.every(({ stream }) => stream === 'audit') ? this.relay.wakeLater : this.relay.wake);
      }
    } finally {
      await Promise.allSettled(written); // also when a message cannot be encoded: no statement outlives the call
    }
    await Promise.all(written);
    if (broadcasts.length > 0) {
      await this.broadcasts.insert(tx, broadcasts);
      tx.afterCommit(this.broadcastRelay.wake);
    }
  }

  private async *batchesOf(
    messages: OutgoingMessages,
    encode: (message: OutgoingMessage) => EncodedMessage,
  ): AsyncGenerator<Encoded[]> {
    let batch: Encoded[] = [];
    let length = 0;
    for await (const message of messages) {
      const encoded = await this.runner.run(() => encode(message));
      batch.push({ stream: message.stream, encoded });
      length += encoded.payload.length;
      if (batch.length < BATCH && length < BATCH_LENGTH) continue;
      yield batch;
      batch = [];
      length = 0;
    }
    if (batch.length > 0) yield batch;
  }
}
