import type { Envelope } from '@rmm/contracts';
import type { JsMsg } from 'nats';
import type { NatsLink } from '../connection/nats-link.js';
import { withMessageContext } from '../context/message-context.js';
import { decodeEnvelope } from '../envelope/decode-envelope.js';
import { keepAlive, type Deliveries } from './delivery.js';
import { DEFAULT_ACK_WAIT_MS, DurableSource } from './durable-source.js';
import type { BatchMessage, BatchOptions } from './event-batches.js';
import { MessageRejected } from './message-rejected.js';

type BatchHandler = (batch: BatchMessage[]) => Promise<void>;

interface Opened {
  message: JsMsg;
  envelope: Envelope;
  settled: boolean;
}

/** Collects the messages of one durable and hands them over in sets, one set at a time unless more are asked for. */
export class BatchLoop {
  private readonly source: DurableSource;
  private readonly ackWaitMs: number;
  private readonly atOnce: number;
  private waiting: Opened[] = [];
  private linger?: NodeJS.Timeout;
  private readonly inHand = new Set<Promise<void>>();
  private stopped = false;

  constructor(
    link: NatsLink,
    private readonly options: BatchOptions,
    private readonly deliveries: Deliveries,
    private readonly handler: BatchHandler,
  ) {
    this.ackWaitMs = options.ackWaitMs ?? DEFAULT_ACK_WAIT_MS;
    this.atOnce = options.setsAtOnce ?? 1;
    const prefetch = options.maxMessages * (this.atOnce + 1);
    this.source = new DurableSource(link, { ...options, prefetch }, (message) => this.take(message));
  }

  start(): void {
    this.source.start();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.source.stop();
    await this.flushWithRoom();
    await Promise.all(this.inHand);
  }

  /** A parked message, alone in a batch. */
  async replay(subject: string, payload: string): Promise<void> {
    const decoded = decodeEnvelope(subject, payload);
    if (!decoded.ok) throw new MessageRejected(decoded.reason);
    let failure: Error | undefined;
    const { envelope } = decoded;
    const fail = (reason: unknown) => (failure = reason instanceof Error ? reason : new Error(String(reason)));
    const alone: BatchMessage = { envelope, deliveries: 1, ack: () => undefined, nak: fail, term: fail };
    await withMessageContext(envelope, () => this.handler([alone]), this.options.durable);
    if (failure) throw failure;
  }

  /** Awaits room for one more batch once the next one is full: that is the back-pressure. */
  private async take(message: JsMsg): Promise<void> {
    const envelope = await this.deliveries.open(message);
    if (envelope) this.waiting.push({ message, envelope, settled: false });
    if (this.waiting.length >= this.options.maxMessages) {
      await this.flushWithRoom();
    } else if (this.waiting.length > 0) {
      this.linger ??= setTimeout(() => void this.flushWithRoom(), this.options.lingerMs);
    }
  }

  private async flushWithRoom(): Promise<void> {
    while (this.inHand.size >= this.atOnce) await Promise.race(this.inHand);
    this.flush();
  }

  private flush(): void {
    clearTimeout(this.linger);
    this.linger = undefined;
    if (this.waiting.length === 0) return;
    const batch = this.waiting;
    this.waiting = [];
    const work = this.handle(batch).finally(() => this.inHand.delete(work));
    this.inHand.add(work);
  }

  private async handle(batch: Opened[]): Promise<void> {
    const done = keepAlive(
      batch.map(({ message }) => message),
      this.ackWaitMs,
    );
    const settling: Promise<void>[] = [];
    try {
      const messages = batch.map((each) => this.settleable(each, settling));
      await withMessageContext(batch[0].envelope, () => this.handler(messages), this.options.durable);
      for (const each of batch) settle(each, settling, () => this.deliveries.handled(each.message));
    } catch (error) {
      for (const each of batch) settle(each, settling, () => this.failed(each, error));
    } finally {
      await Promise.all(settling);
      done();
    }
  }

  /** What could not be handled because the process ends goes to another at once, and nothing is wrong with it. */
  private failed({ message, envelope }: Opened, error: unknown): Promise<void> | void {
    return this.stopped ? message.nak() : this.deliveries.failed(message, envelope, error);
  }

  private settleable(each: Opened, settling: Promise<void>[]): BatchMessage {
    const { message, envelope } = each;
    return {
      envelope,
      deliveries: message.info.deliveryCount,
      ack: () => settle(each, settling, () => this.deliveries.handled(message)),
      nak: (error) => settle(each, settling, () => this.failed(each, error ?? new Error('not handled'))),
      term: (reason) => settle(each, settling, () => this.deliveries.terminate(message, reason, envelope.id)),
    };
  }
}

/** The first settlement of a message counts. */
function settle(each: Opened, settling: Promise<void>[], how: () => Promise<void> | void): void {
  if (each.settled) return;
  each.settled = true;
  settling.push(Promise.resolve(how()));
}
