import type { Envelope } from '@rmm/contracts';
import type { JsMsg } from 'nats';
import type { NatsLink } from '../connection/nats-link.js';
import { withMessageContext } from '../context/message-context.js';
import { decodeEnvelope } from '../envelope/decode-envelope.js';
import { keepAlive, type Deliveries } from './delivery.js';
import { DEFAULT_ACK_WAIT_MS, DurableSource } from './durable-source.js';
import type { BatchMessage, BatchOptions } from './event-batches.js';
import { RejectMessage } from './reject-message.js';

type BatchHandler = (batch: BatchMessage[]) => Promise<void>;

interface Opened {
  message: JsMsg;
  envelope: Envelope;
  settled: boolean;
}

/** Collects the messages of one durable and hands them over in sets, one set at a time. */
export class BatchLoop {
  private readonly source: DurableSource;
  private readonly ackWaitMs: number;
  private waiting: Opened[] = [];
  private linger?: NodeJS.Timeout;
  private inHand: Promise<void> = Promise.resolve();

  constructor(
    link: NatsLink,
    private readonly options: BatchOptions,
    private readonly deliveries: Deliveries,
    private readonly handler: BatchHandler,
  ) {
    this.ackWaitMs = options.ackWaitMs ?? DEFAULT_ACK_WAIT_MS;
    this.source = new DurableSource(link, { ...options, prefetch: options.maxMessages * 2 }, (message) =>
      this.take(message),
    );
  }

  start(): void {
    this.source.start();
  }

  async stop(): Promise<void> {
    await this.source.stop();
    this.flush();
    await this.inHand;
  }

  /** A parked message, alone in a batch. */
  async replay(subject: string, payload: string): Promise<void> {
    const decoded = decodeEnvelope(subject, payload);
    if (!decoded.ok) throw new RejectMessage(decoded.reason);
    let failure: Error | undefined;
    const { envelope } = decoded;
    const fail = (reason: unknown) => (failure = reason instanceof Error ? reason : new Error(String(reason)));
    const alone: BatchMessage = { envelope, deliveries: 1, ack: () => undefined, nak: fail, term: fail };
    await withMessageContext(envelope, () => this.handler([alone]), this.options.durable);
    if (failure) throw failure;
  }

  /** Awaits the batch in hand once the next one is full: that is the back-pressure. */
  private async take(message: JsMsg): Promise<void> {
    const envelope = await this.deliveries.open(message);
    if (envelope) this.waiting.push({ message, envelope, settled: false });
    if (this.waiting.length >= this.options.maxMessages) {
      await this.inHand;
      this.flush();
    } else if (this.waiting.length > 0) {
      this.linger ??= setTimeout(() => void this.inHand.then(() => this.flush()), this.options.lingerMs);
    }
  }

  private flush(): void {
    clearTimeout(this.linger);
    this.linger = undefined;
    if (this.waiting.length === 0) return;
    const batch = this.waiting;
    this.waiting = [];
    this.inHand = this.inHand.then(() => this.handle(batch));
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
      for (const each of batch)
        settle(each, settling, () => this.deliveries.failed(each.message, each.envelope, error));
    } finally {
      await Promise.all(settling);
      done();
    }
  }

  private settleable(each: Opened, settling: Promise<void>[]): BatchMessage {
    const { message, envelope } = each;
    return {
      envelope,
      deliveries: message.info.deliveryCount,
      ack: () => settle(each, settling, () => this.deliveries.handled(message)),
      nak: (error) =>
        settle(each, settling, () => this.deliveries.failed(message, envelope, error ?? new Error('not handled'))),
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
