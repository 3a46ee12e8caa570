import { Inject, Injectable } from '@nestjs/common';
import { Clock, currentContext } from '@rmm/service-kit';
import { MESSAGING_OPTIONS, type MessagingModuleOptions } from '../messaging.options.js';
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
    private readonly clock: Clock,
    @Inject(MESSAGING_OPTIONS) private readonly options: Pick<MessagingModuleOptions, 'service'>,
  ) {}

  /**
   * Writes messages with one statement, in the order given, with correlation id and trace context of the request.
   * @throws TypeError, RangeError  for a message that can never be published; the transaction should then fail
   */
  async publish(tx: OutboxTransaction, message: OutgoingMessage | readonly OutgoingMessage[]): Promise<void> {
    const messages = [message].flat() as OutgoingMessage[];
    if (messages.length === 0) return;
    const now = this.clock.now();
    const context = currentContext();
    const rows = messages.map((each) => encodeMessage(this.options.service, each, context, now));
    await this.repository.insert(tx, rows);
    tx.afterCommit(this.relay.wake);
  }
}
