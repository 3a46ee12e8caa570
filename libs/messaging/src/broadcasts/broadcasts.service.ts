import { Injectable, Logger } from '@nestjs/common';
import type { Msg } from 'nats';
import { randomUUID } from 'node:crypto';
import { subjects, type BroadcastMap, type BroadcastTopic, type Envelope } from '@rmm/contracts';
import { NatsLink } from '../connection/nats-link.service.js';
import { withMessageContext } from '../context/execution-context.js';
import { decodeEnvelope } from '../envelope/decode-envelope.js';

export interface BroadcastSubscription {
  unsubscribe(): void;
}

type BroadcastHandler<Topic extends BroadcastTopic> = (envelope: Envelope<BroadcastMap[Topic]>) => void;

/** Core NATS without a queue group: every connected replica receives a broadcast; a disconnected one never does. */
@Injectable()
export class Broadcasts {
  private readonly logger = new Logger('Broadcasts');

  constructor(private readonly link: NatsLink) {}

  /** Calls the handler for every broadcast of a topic until unsubscribed, across reconnects. */
  subscribe<Topic extends BroadcastTopic>(topic: Topic, handler: BroadcastHandler<Topic>): BroadcastSubscription {
    const callback = (error: Error | null, message: Msg): void => {
      if (error) this.logger.error({ message: `Broadcast ${topic} cannot be received`, err: error });
      else this.receive(message, handler as (envelope: Envelope) => void);
    };
    return this.link.connection.subscribe(subjects.broadcast(topic), { callback });
  }

  /**
   * Sends at once, outside any transaction: for heartbeats. A broadcast that follows from a commit goes through the
   * outbox. While NATS is down the message is dropped, since a late heartbeat would be wrong.
   */
  publishNow<Topic extends BroadcastTopic>(topic: Topic, data: BroadcastMap[Topic]): void {
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

  private receive(message: Msg, handler: (envelope: Envelope) => void): void {
    const decoded = decodeEnvelope(message.subject, message.string());
    if (!decoded.ok) return this.logger.warn(`Broadcast on ${message.subject} ignored: ${decoded.reason}`);
    try {
      withMessageContext(decoded.envelope, () => handler(decoded.envelope));
    } catch (error) {
      this.logger.error({
        message: `The handler of broadcast ${message.subject} failed; it is not repeated`,
        err: error,
      });
    }
  }
}
