import type { JsMsg } from 'nats';
import type { Envelope } from '@rmm/contracts';
import type { NatsLink } from '../connection/nats-link.service.js';
import { handleBatchInContext, handleInContext } from '../context/execution-context.js';
import { DurableConsumer } from './durable-consumer.js';
import type { BatchMessage, BatchOptions } from './event-batches.service.js';
import { keepAlive, type MessageSettler } from './message-settler.js';
import { createReplaySettlement, openDeadLetter } from './replay-settlement.js';

type BatchHandler = (batch: BatchMessage[]) => Promise<void>;

interface PendingMessage {
  message: JsMsg;
  envelope: Envelope;
  settled: boolean;
}

/** Collects the messages of one durable consumer and passes them to the handler in batches. */
export class BatchConsumer {
  private readonly consumer: DurableConsumer;
  private readonly concurrency: number;
  private waiting: PendingMessage[] = [];
  private linger?: NodeJS.Timeout;
  private readonly inProgress = new Set<Promise<void>>();
  private stopped = false;

  constructor(
    link: NatsLink,
    private readonly options: BatchOptions,
    private readonly settler: MessageSettler,
    private readonly handler: BatchHandler,
  ) {
    this.concurrency = options.concurrency ?? 1;
    const prefetch = options.maxMessages * (this.concurrency + 1);
    this.consumer = new DurableConsumer(link, { ...options, prefetch }, (message) => this.accept(message));
  }

  start(): void {
    this.consumer.start();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.consumer.stop();
    await this.flushWhenIdle();
    await Promise.all(this.inProgress);
  }

  /** Handles a dead letter as a batch of one. */
  async replay(subject: string, payload: string): Promise<void> {
    const envelope = openDeadLetter(subject, payload);
    const { settled, ack, nak, term } = createReplaySettlement();
    const message: BatchMessage = { envelope, deliveries: 1, ack, nak, term };
    await handleInContext(envelope, this.options.durable, () => this.handler([message]));
    ack();
    await settled;
  }

  /** Waits while the next batch is full and all handlers are busy, which gives the consumer back-pressure. */
  private async accept(message: JsMsg): Promise<void> {
    const envelope = await this.settler.open(message);
    if (envelope) this.waiting.push({ message, envelope, settled: false });
    if (this.waiting.length >= this.options.maxMessages) {
      await this.flushWhenIdle();
    } else if (this.waiting.length > 0) {
      this.linger ??= setTimeout(() => void this.flushWhenIdle(), this.options.lingerMs);
    }
  }

  private async flushWhenIdle(): Promise<void> {
    while (this.inProgress.size >= this.concurrency) await Promise.race(this.inProgress);
    this.flush();
  }

  private flush(): void {
    clearTimeout(this.linger);
    this.linger = undefined;
    if (this.waiting.length === 0) return;
    const batch = this.waiting;
    this.waiting = [];
    const work = this.handle(batch).finally(() => this.inProgress.delete(work));
    this.inProgress.add(work);
  }

  private async handle(batch: PendingMessage[]): Promise<void> {
    const done = keepAlive(batch.map(({ message }) => message));
    const settling: Promise<void>[] = [];
    try {
      const messages = batch.map((each) => this.toBatchMessage(each, settling));
      const [first, ...others] = batch.map(({ envelope }) => envelope);
      await handleBatchInContext([first, ...others], this.options.durable, () => this.handler(messages));
      for (const each of batch) settle(each, settling, () => this.settler.settleHandled(each.message));
    } catch (error) {
      for (const each of batch) settle(each, settling, () => this.settleFailed(each, error));
    } finally {
      await Promise.all(settling);
      done();
    }
  }

  /** Releases messages to another replica at once when this process stops, without counting a failure. */
  private settleFailed({ message, envelope }: PendingMessage, error: unknown): Promise<void> | void {
    return this.stopped ? message.nak() : this.settler.settleFailed(message, envelope, error);
  }

  private toBatchMessage(each: PendingMessage, settling: Promise<void>[]): BatchMessage {
    const { message, envelope } = each;
    return {
      envelope,
      deliveries: message.info.deliveryCount,
      ack: () => settle(each, settling, () => this.settler.settleHandled(message)),
      nak: (error) => settle(each, settling, () => this.settleFailed(each, error ?? new Error('not handled'))),
      term: (reason) => settle(each, settling, () => this.settler.terminate(message, reason, envelope.id)),
    };
  }
}

/** Ignores all but the first settlement of a message. */
function settle(each: PendingMessage, settling: Promise<void>[], how: () => Promise<void> | void): void {
  if (each.settled) return;
  each.settled = true;
  settling.push(Promise.resolve(how()));
}
