import { Logger } from '@nestjs/common';
import type { JsMsg } from 'nats';
import { setImmediate } from 'node:timers/promises';
import type { Envelope } from '@rmm/contracts';
import { UnavailableError } from '@rmm/service-kit';
import { decodeEnvelope } from '../envelope/decode-envelope.js';
import { MessageRejected } from '../messaging.errors.js';
import type { MessagingMetrics } from '../messaging.metrics.js';
import { ACK_WAIT_MS } from '../streams/durables.js';
import { describeReason, type DeadLetterMessagesService } from './dead-letter-messages.service.js';

/** The newest version of the envelope that this code understands. */
const SCHEMA_VERSION = 1;
/** Waits before the second, third, ... delivery, in milliseconds; the last one repeats. */
const BACKOFF_MS = [500, 2_000, 5_000, 15_000, 30_000, 60_000];
/** Reports that are sent without a pause for other work; 20,000 take 30 ms. */
const REPORTS_AT_ONCE = 500;
/** The messages whose failures are counted. */
const MAX_FAILING = 10_000;

export interface RedeliveryPolicy {
  /** A message becomes a dead letter after this many failed deliveries to a process, by default after about two minutes. */
  maxDeliveries: number;
  backoffMs: readonly number[];
  /**
   * A message becomes a dead letter after this many deliveries without a result, three times `maxDeliveries` by default.
   * Includes deliveries that a stopping process released or that an outage repeated.
   */
  maxWithoutResult?: number;
}

export const DEFAULT_REDELIVERY_POLICY: RedeliveryPolicy = { maxDeliveries: 7, backoffMs: BACKOFF_MS };

/** Settles each message of one durable consumer: acknowledges, redelivers, terminates or dead-letters it. */
export class MessageSettler {
  private readonly logger = new Logger('Consumer');
  /** Failed deliveries of messages that are not settled for good, by their number in the stream. */
  private readonly failures = new Map<number, number>();

  constructor(
    private readonly durable: string,
    private readonly deadLetters: DeadLetterMessagesService,
    private readonly metrics: MessagingMetrics,
    private readonly policy: RedeliveryPolicy = DEFAULT_REDELIVERY_POLICY,
    /** Returns the text of a message, which a consumer of headers reads from the stream. */
    private readonly readText: (message: JsMsg) => string | Promise<string> = (message) => message.string(),
  ) {}

  /**
   * Returns the envelope of a message that may be handled, otherwise null. Terminates a malformed message and one on the
   * wrong subject; dead-letters one of a newer version and one whose handling repeatedly ended the process.
   */
  async open(message: JsMsg, text = message.string()): Promise<Envelope | null> {
    const decoded = decodeEnvelope(message.subject, text);
    if (!decoded.ok) {
      this.terminate(message, decoded.reason);
      return null;
    }
    const { envelope } = decoded;
    const newer = envelope.schemaVersion > SCHEMA_VERSION;
    const { maxDeliveries, maxWithoutResult = maxDeliveries * 3 } = this.policy;
    if (!newer && message.info.deliveryCount <= maxWithoutResult) return envelope;
    const reason = newer
      ? `schema version ${envelope.schemaVersion} is not known`
      : 'its deliveries end without a result';
    await this.deadLetter(message, envelope.id, reason);
    return null;
  }

  settleHandled(message: JsMsg): void {
    message.ack();
    this.failures.delete(message.seq);
    this.metrics.countConsumed(this.durable, 'handled');
  }

  /**
   * Counts failed deliveries only: not those that were released, that a process did not get to, or in which a dependency
   * was down.
   */
  async settleFailed(message: JsMsg, envelope: Pick<Envelope, 'id'>, error: unknown): Promise<void> {
    if (error instanceof MessageRejected) return this.terminate(message, error.reason, envelope.id);
    if (error instanceof UnavailableError) return this.redeliver(message, error);
    if (this.countFailure(message) >= this.policy.maxDeliveries) {
      return this.deadLetter(message, envelope.id, describeReason(error));
    }
    this.redeliver(message, error);
  }

  /** Has the message delivered again after the backoff for its number of deliveries. */
  redeliver(message: JsMsg, error: unknown): void {
    const { backoffMs } = this.policy;
    const delayMs = backoffMs[Math.min(message.info.deliveryCount, backoffMs.length) - 1] ?? 1_000;
    message.nak(delayMs);
    this.metrics.countConsumed(this.durable, 'redelivered');
    this.logger.warn({
      message: 'Message failed; it will be delivered again',
      consumer: this.durable,
      subject: message.subject,
      deliveries: message.info.deliveryCount,
      delayMs,
      reason: describeReason(error),
    });
  }

  terminate(message: JsMsg, reason: string, messageId?: string): void {
    message.term(reason);
    this.failures.delete(message.seq);
    this.metrics.countConsumed(this.durable, 'terminated');
    this.logger.error({
      message: 'Message terminated; it will not be delivered again',
      consumer: this.durable,
      subject: message.subject,
      messageId,
      reason,
    });
  }

  /** Returns how often the message failed in this process; forgets messages that another replica settled. */
  private countFailure({ seq }: JsMsg): number {
    const failures = (this.failures.get(seq) ?? 0) + 1;
    this.failures.delete(seq);
    this.failures.set(seq, failures);
    if (this.failures.size > MAX_FAILING) this.failures.delete(this.failures.keys().next().value as number);
    return failures;
  }

  private async deadLetter(message: JsMsg, messageId: string, reason: string): Promise<void> {
    const { subject } = message;
    try {
      const deliveries = message.info.deliveryCount;
      await this.deadLetters.store({
        consumer: this.durable,
        subject,
        messageId,
        payload: await this.readText(message),
        reason,
        deliveries,
      });
    } catch (error) {
      return this.redeliver(message, error);
    }
    message.term(`dead-lettered: ${reason}`);
    this.failures.delete(message.seq);
    this.metrics.countConsumed(this.durable, 'dead_lettered');
    this.logger.error({
      message: 'Message stored as dead letter; it waits for a replay',
      consumer: this.durable,
      subject,
      messageId,
      reason,
    });
  }
}

/**
 * Reports regularly that messages are in progress. @returns a function that stops it
 * @param messages  read at each report: a set may change meanwhile
 */
export function keepAlive(messages: Iterable<JsMsg>, everyMs = ACK_WAIT_MS / 3): () => void {
  const timer = setInterval(() => void report(messages), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

async function report(messages: Iterable<JsMsg>): Promise<void> {
  let reported = 0;
  for (const message of messages) {
    message.working();
    reported += 1;
    if (reported % REPORTS_AT_ONCE === 0) await setImmediate();
  }
}
