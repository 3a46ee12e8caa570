import { Logger } from '@nestjs/common';
import type { Envelope } from '@rmm/contracts';
import { UnavailableError } from '@rmm/service-kit';
import type { JsMsg } from 'nats';
import { decodeEnvelope } from '../envelope/decode-envelope.js';
import type { MessagingMetrics } from '../messaging-metrics.js';
import { reasonOf, type DeadLetterMessages } from './dead-letter-messages.js';
import { MessageRejected } from './message-rejected.js';

/** The newest form of the envelope this code understands. */
const SCHEMA_VERSION = 1;
/** Waits before the second, third, ... delivery, in milliseconds; the last one repeats. */
const BACKOFF_MS = [500, 2_000, 5_000, 15_000, 30_000, 60_000];

export interface DeliveryPolicy {
  /** A handler that fails this often has its message parked; together about two minutes. */
  maxDeliveries: number;
  backoffMs: readonly number[];
}

export const DEFAULT_DELIVERY_POLICY: DeliveryPolicy = { maxDeliveries: 7, backoffMs: BACKOFF_MS };

/** Decides what becomes of each message of one durable: acknowledged, tried again, terminated or parked. */
export class Deliveries {
  private readonly logger = new Logger('Consumer');

  constructor(
    private readonly durable: string,
    private readonly parked: DeadLetterMessages,
    private readonly metrics: MessagingMetrics,
    private readonly policy: DeliveryPolicy = DEFAULT_DELIVERY_POLICY,
  ) {}

  /**
   * The envelope of a message that may be handled. A malformed one, or one on a foreign subject, is terminated here;
   * one of a newer form, or one that took its handler's process down again and again, is parked.
   */
  async open(message: JsMsg): Promise<Envelope | null> {
    const decoded = decodeEnvelope(message.subject, message.string());
    if (!decoded.ok) {
      this.terminate(message, decoded.reason);
      return null;
    }
    const { envelope } = decoded;
    const newer = envelope.schemaVersion > SCHEMA_VERSION;
    if (!newer && message.info.deliveryCount <= this.policy.maxDeliveries * 3) return envelope;
    const reason = newer
      ? `schema version ${envelope.schemaVersion} is not known`
      : 'its deliveries end without a result';
    await this.park(message, envelope.id, reason);
    return null;
  }

  handled(message: JsMsg): void {
    message.ack();
    this.metrics.countConsumed(this.durable, 'handled');
  }

  /** A dependency that is down is not the message's fault: it is tried on, up to three times as often. */
  async failed(message: JsMsg, envelope: Envelope, error: unknown): Promise<void> {
    if (error instanceof MessageRejected) return this.terminate(message, error.reason, envelope.id);
    const usedUp = message.info.deliveryCount >= this.policy.maxDeliveries;
    if (usedUp && !(error instanceof UnavailableError)) return this.park(message, envelope.id, reasonOf(error));
    this.again(message, error);
  }

  /** Delivered once more after the backoff of its count. */
  again(message: JsMsg, error: unknown): void {
    const { backoffMs } = this.policy;
    const delayMs = backoffMs[Math.min(message.info.deliveryCount, backoffMs.length) - 1] ?? 1_000;
    message.nak(delayMs);
    this.metrics.countConsumed(this.durable, 'redelivered');
    this.logger.warn({
      message: 'Message will be delivered again',
      consumer: this.durable,
      subject: message.subject,
      deliveries: message.info.deliveryCount,
      delayMs,
      reason: reasonOf(error),
    });
  }

  terminate(message: JsMsg, reason: string, messageId?: string): void {
    message.term(reason);
    this.metrics.countConsumed(this.durable, 'terminated');
    this.logger.error({
      message: 'Message terminated',
      consumer: this.durable,
      subject: message.subject,
      messageId,
      reason,
    });
  }

  private async park(message: JsMsg, messageId: string, reason: string): Promise<void> {
    const { subject } = message;
    try {
      const deliveries = message.info.deliveryCount;
      await this.parked.park({
        consumer: this.durable,
        subject,
        messageId,
        payload: message.string(),
        reason,
        deliveries,
      });
    } catch (error) {
      return this.again(message, error);
    }
    message.term(`parked: ${reason}`);
    this.metrics.countConsumed(this.durable, 'parked');
    this.logger.error({ message: 'Message parked', consumer: this.durable, subject, messageId, reason });
  }
}

/** Tells the server every third of `ackWaitMs` that messages are still being worked on; settled ones stay silent. @returns the stop */
export function keepAlive(messages: readonly JsMsg[], ackWaitMs: number): () => void {
  const timer = setInterval(() => {
    for (const message of messages) message.working();
  }, ackWaitMs / 3);
  timer.unref();
  return () => clearInterval(timer);
}
