import { Inject, Injectable } from '@nestjs/common';
import { Clock, currentContext } from '@rmm/service-kit';
import { MESSAGING_OPTIONS, type MessagingModuleOptions } from '../messaging.options.js';
import { BroadcastOutboxRepository } from './broadcast-outbox.repository.js';
import { BroadcastRelay } from './broadcast-relay.service.js';
import { encodeMessage, type OutgoingMessage } from './outbox-message.js';
import { OutboxRelay } from './outbox-relay.service.js';
import { OutboxRepository, type OutboxTransaction } from './outbox.repository.js';

export type { OutboxTransaction } from './outbox.repository.js';

/** Publishes messages if, and only if, the transaction they are written in commits. */
@Injectable()
export class Outbox {
  constructor(
    private readonly repository: OutboxRepository,
    private readonly relay: OutboxRelay,
    private readonly broadcasts: BroadcastOutboxRepository,
    private readonly broadcastRelay: BroadcastRelay,
    private readonly clock: Clock,
    @Inject(MESSAGING_OPTIONS) private readonly options: Pick<MessagingModuleOptions, 'service'>,
  ) {}

  /**
   * Writes messages with one statement, broadcasts with a second one, in the order given, with correlation id and trace
   * context of the request.
   * @throws TypeError, RangeError  for a message that can never be published; the transaction should then fail
   */
  async publish(tx: OutboxTransaction, message: OutgoingMessage | readonly OutgoingMessage[]): Promise<void> {
    const messages = 'stream' in message ? [message] : [...message];
    if (messages.length === 0) return;
    const now = this.clock.now();
    const context = currentContext();
    const encode = (each: OutgoingMessage) => encodeMessage(this.options.service, each, context, now);
    const stored = messages.filter(({ stream }) => stream !== 'broadcast').map(encode);
    const broadcasts = messages.filter(({ stream }) => stream === 'broadcast').map(encode);
    if (stored.length > 0) {
      await this.repository.insert(tx, stored);
      tx.afterCommit(this.relay.wake);
    }
    if (broadcasts.length > 0) {
      await this.broadcasts.insert(tx, broadcasts);
      tx.afterCommit(this.broadcastRelay.wake);
    }
  }
}
