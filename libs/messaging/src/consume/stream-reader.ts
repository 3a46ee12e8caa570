import type { JsMsg } from 'nats';
import { setImmediate } from 'node:timers';
import { STREAMS, type Envelope, type StreamKind } from '@rmm/contracts';
import type { NatsLink } from '../connection/nats-link.service.js';
import { ackWaitMsOf } from '../streams/durables.js';
import { DurableConsumer } from './durable-consumer.js';
import { keepAlive, type MessageSettler } from './message-settler.js';
import { createReplaySettlement, openDeadLetter } from './replay-settlement.js';
import { type ByteLimits, RoundRobinQueue, type WaitingItem } from './round-robin-queue.js';
import { type StoredMessages, textOf } from './stored-messages.js';

export interface StreamReaderOptions {
  stream: StreamKind;
  /** A durable consumer that delivers headers only. */
  durable: string;
  subjects: readonly string[];
  /** Headers fetched ahead. */
  prefetch: number;
  /** Messages in hand, most of which wait for their turn to be read. */
  maxMessages: number;
  /** Limits what is read and not settled, by organization. */
  bytes: ByteLimits;
}

/** A message that its handler settles once, at any time. It is kept from being redelivered until then. */
export interface StreamMessage {
  readonly envelope: Envelope;
  /** The message as it was published. */
  readonly text: string;
  /** When the stream stored it; the same at each delivery. */
  readonly storedAt: Date;
  /** 1 at the first delivery. */
  readonly deliveries: number;
  readonly ack: () => void;
  /** Redelivers the message after its backoff; dead-letters it once its failed deliveries are used up. */
  readonly nak: (error: unknown) => void;
  /** Redelivers the message, to this or another replica, without counting a failure. */
  readonly release: () => void;
  /** Ends the message: it is not delivered again. */
  readonly term: (reason: string) => void;
}

export interface EventStreamSubscription {
  /** Returns how many messages of the consumer wait in the stream. @throws NatsError */
  countPending(): Promise<number>;
  /** Passes on no more messages; those not settled stay with their handler. */
  stop(): Promise<void>;
}

/** The headers of a message that waits to be read. */
interface Head extends WaitingItem {
  readonly message: JsMsg;
}

/** Bytes that a message counts in addition to its own. */
const MESSAGE_BYTES = 512;
/** Messages and bytes of one request. */
const RUN_MESSAGES = 200;
const RUN_BYTES = 262_144;
/** The pause before a message that could not be read is delivered again, for each of its deliveries, and its limit. */
const UNREADABLE_MS = 500;
const MAX_UNREADABLE_MS = 30_000;

/**
 * Reads one durable consumer. The server delivers the headers of messages in order, which takes no time; the messages are
 * read by their numbers when it is the turn of their organization. So the messages of an organization do not wait
 * behind the bytes of others, and what is in memory is bounded in bytes.
 */
export class StreamReader implements EventStreamSubscription {
  private readonly consumer: DurableConsumer;
  private readonly waiting: RoundRobinQueue<Head>;
  /** Waiting to be read, or not settled. */
  private readonly unsettled = new Set<JsMsg>();
  private readonly stopKeepAlive: () => void;
  private onSettled: () => void = () => undefined;
  private isReadScheduled = false;
  private stopped = false;

  constructor(
    private readonly link: NatsLink,
    private readonly options: StreamReaderOptions,
    private readonly stored: StoredMessages,
    private readonly settler: MessageSettler,
    private readonly handler: (message: StreamMessage) => void,
  ) {
    this.consumer = new DurableConsumer(link, { ...options, headersOnly: true }, (message) => this.accept(message));
    this.waiting = new RoundRobinQueue(options.bytes);
    this.stopKeepAlive = keepAlive(this.unsettled, ackWaitMsOf(options.durable) / 3);
  }

  start(): void {
    this.consumer.start();
  }

  async countPending(): Promise<number> {
    const { stream, durable } = this.options;
    const manager = await this.link.connection.jetstreamManager({ checkAPI: false });
    return (await manager.consumers.info(STREAMS[stream].name, durable)).num_pending;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    for (const { message } of this.waiting.remove(() => true)) this.settle(message, () => message.nak());
    this.stored.stop();
    this.onSettled();
    await this.consumer.stop();
    if (this.unsettled.size === 0) this.stopKeepAlive();
  }

  /** Handles a dead letter as a message of its own. */
  async replay(subject: string, payload: string): Promise<void> {
    const envelope = openDeadLetter(subject, payload);
    const { settled, ...settle } = createReplaySettlement();
    this.handler({ envelope, text: payload, storedAt: new Date(envelope.timestamp), deliveries: 2, ...settle });
    await settled;
  }

  /** Waits while too many messages are in hand, which gives the consumer back-pressure. */
  private async accept(message: JsMsg): Promise<void> {
    this.unsettled.add(message);
    const bytes = MESSAGE_BYTES + Number(message.headers?.get('Nats-Msg-Size') || 0);
    this.waiting.add({ key: organizationOf(message.subject), bytes, message });
    this.scheduleRead();
    while (!this.stopped && this.unsettled.size >= this.options.maxMessages) {
      await new Promise<void>((resolve) => (this.onSettled = resolve));
    }
  }

  /** Reads after all headers that have arrived are in the queues, so that one request reads many. */
  private scheduleRead(): void {
    if (this.isReadScheduled) return;
    this.isReadScheduled = true;
    setImmediate(() => {
      this.isReadScheduled = false;
      this.readNext();
    });
  }

  private readNext(): void {
    let run: Head[] = [];
    let bytes = 0;
    for (let head = this.takeNext(); head; head = this.takeNext()) {
      const isNext = head.message.seq === (run.at(-1)?.message.seq ?? NaN) + 1;
      if (!isNext || run.length === RUN_MESSAGES || bytes + head.bytes > RUN_BYTES) {
        this.readRun(run);
        run = [];
        bytes = 0;
      }
      run.push(head);
      bytes += head.bytes;
    }
    this.readRun(run);
  }

  private takeNext(): Head | undefined {
    return this.stopped ? undefined : this.waiting.takeNext();
  }

  private readRun(run: readonly Head[]): void {
    const [first] = run;
    if (!first) return;
    const firstSeq = first.message.seq;
    this.stored.readRun(firstSeq, run.length, {
      onMessage: (seq, data) => void this.open(run[seq - firstSeq], data),
      onEnd: (missing) => {
        for (const seq of missing) this.redeliver(run[seq - firstSeq]);
      },
    });
  }

  /** A message that has left the stream is delivered no more, and one that a server does not have yet is read later. */
  private redeliver(head: Head): void {
    const { message } = head;
    const delayMs = Math.min(MAX_UNREADABLE_MS, message.info.deliveryCount * UNREADABLE_MS);
    this.settle(message, () => message.nak(this.stopped ? undefined : delayMs), head);
  }

  private async open(head: Head, data: Uint8Array): Promise<void> {
    const { message } = head;
    const text = textOf(data);
    const envelope = await this.settler.open(message, text);
    if (!envelope) return this.settle(message, () => undefined, head);
    const { id } = envelope; // what settles a message does not keep its text
    const settle = (how: () => Promise<void> | void) => this.settle(message, how, head);
    this.handler({
      envelope,
      text,
      storedAt: new Date(message.info.timestampNanos / 1_000_000),
      deliveries: message.info.deliveryCount,
      ack: () => settle(() => this.settler.settleHandled(message)),
      nak: (error) => settle(() => this.settler.settleFailed(message, { id }, error)),
      release: () => settle(() => message.nak()),
      term: (reason) => settle(() => this.settler.terminate(message, reason, id)),
    });
  }

  /** @param head  of a message that was read */
  private settle(message: JsMsg, how: () => Promise<void> | void, head?: Head): void {
    if (!this.unsettled.delete(message)) return;
    void how();
    this.onSettled();
    if (head) {
      this.waiting.release(head);
      this.scheduleRead();
    }
    if (this.stopped && this.unsettled.size === 0) this.stopKeepAlive();
  }
}

/** Returns the organization in the subject of an event: `rmm.events.<orgId>.<type>`. */
const organizationOf = (subject: string): string => subject.split('.', 3)[2] ?? '';
