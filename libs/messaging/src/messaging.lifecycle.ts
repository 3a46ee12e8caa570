import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { NatsLink } from './connection/nats-link.service.js';
import { DeadLetterMessagesRepository } from './consume/dead-letter-messages.repository.js';
import { EventBatches } from './consume/event-batches.service.js';
import { EventStreams } from './consume/event-streams.service.js';
import { JetStreamServer } from './consume/jetstream.transport.js';
import { MessagingMetrics } from './messaging.metrics.js';
import { BroadcastRelay } from './outbox/broadcast-relay.service.js';
import { OutboxRelay } from './outbox/outbox-relay.service.js';

/** Starts the relay once the schema is migrated, and stops messaging in the order that loses least. */
@Injectable()
export class MessagingLifecycle implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    private readonly link: NatsLink,
    private readonly relay: OutboxRelay,
    private readonly broadcastRelay: BroadcastRelay,
    private readonly batches: EventBatches,
    private readonly streams: EventStreams,
    private readonly server: JetStreamServer,
    private readonly deadLetters: DeadLetterMessagesRepository,
    private readonly metrics: MessagingMetrics,
  ) {}

  onApplicationBootstrap(): void {
    this.metrics.observeDeadLetters(() => this.deadLetters.count());
    this.relay.start();
    this.broadcastRelay.start();
  }

  /** Consumers finish, the outbox is published as far as possible, the connection is drained. The database is still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.server.close(), this.batches.stopAll(), this.streams.stopAll()]);
    await Promise.all([this.relay.stop(), this.broadcastRelay.stop()]);
    await this.link.close();
  }
}
