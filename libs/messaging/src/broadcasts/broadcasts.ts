import { Logger } from '@nestjs/common';
import { subjects, type Envelope } from '@rmm/contracts';
import { randomUUID } from 'node:crypto';
import type { Msg } from 'nats';
import type { NatsLink } from '../connection/nats-link.js';
import { withMessageContext } from '../context/message-context.js';
import { decodeEnvelope } from '../envelope/decode-envelope.js';

export interface BroadcastSubscription {
  unsubscribe(): void;
}

/** Core NATS without a queue group: every replica that is connected hears it, nobody hears it later. */
export class Broadcasts {
  private readonly logger = new Logger('Broadcasts');

  constructor(private readonly link: NatsLink) {}

  /** Hears a topic (`access.changed`; wildcards allowed) for as long as the process lives, across reconnects. */
  subscribe(topic: string, handler: (envelope: Envelope) => void): BroadcastSubscription {
    const callback = (error: Error | null, message: Msg): void => {
      if (error) this.logger.error({ message: `Broadcast ${topic} cannot be heard`, err: error });
      else this.hear(message, handler);
    };
    return this.link.connection.subscribe(subjects.broadcast(topic), { callback });
  }

  /**
   * Sends at once, outside any transaction: for heartbeats. Anything that follows from a commit goes through the outbox.
   * While NATS is down it is dropped, since a late heartbeat would lie.
   */
  publishNow(topic: string, data: object): void {
    if (!this.link.isConnected) return;
    const id = randomUUID();
    const envelope: Envelope = {
      id,
      type: topic,
      schemaVersion: 1,
      timestamp: new Date().toISOString(),
      partnerId: null,
      orgId: null,
      aggregateId: id,
      aggregateVersion: 0,
      data,
    };
    this.link.connection.publish(subjects.broadcast(topic), JSON.stringify(envelope));
  }

  private hear(message: Msg, handler: (envelope: Envelope) => void): void {
    const decoded = decodeEnvelope(message.subject, message.string());
    if (!decoded.ok) return this.logger.warn(`Broadcast on ${message.subject} ignored: ${decoded.reason}`);
    try {
      withMessageContext(decoded.envelope, () => handler(decoded.envelope));
    } catch (error) {
      this.logger.error({ message: `Broadcast ${message.subject} could not be handled`, err: error });
    }
  }
}
