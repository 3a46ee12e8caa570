import { createInbox, type Msg, type Subscription } from 'nats';
import type { NatsLink } from '../connection/nats-link.service.js';

/** Time without a message after which the rest of a request counts as missing. */
const REPLY_MS = 5_000;

/** Receives each message of a run as it arrives. */
export interface RunListener {
  onMessage(seq: number, data: Uint8Array): void;
  /** Called once, with what did not arrive: it is no longer stored, or the server did not reply. */
  onEnd(missing: readonly number[]): void;
}

interface RunningRead {
  readonly missing: Set<number>;
  readonly listener: RunListener;
  timer: NodeJS.Timeout;
}

/**
 * Reads messages of a stream by their numbers, a run of consecutive ones with one request (batched direct get of
 * NATS 2.11). All replies arrive on one subscription: one for each request would cost more than the request.
 */
export class StoredMessages {
  private readonly running = new Map<string, RunningRead>();
  private subscription: Subscription | undefined;
  private prefix = '';
  private requests = 0;

  constructor(
    private readonly link: NatsLink,
    private readonly stream: string,
  ) {}

  /** Requests consecutive messages. */
  readRun(first: number, count: number, listener: RunListener): void {
    this.subscribe();
    const token = String((this.requests += 1));
    const missing = new Set(Array.from({ length: count }, (_, n) => first + n));
    this.running.set(token, { missing, listener, timer: this.startTimer(token) });
    const request = count === 1 ? { seq: first } : { seq: first, batch: count };
    const reply = `${this.prefix}${token}`;
    try {
      this.link.connection.publish(`$JS.API.DIRECT.GET.${this.stream}`, JSON.stringify(request), { reply });
    } catch {
      this.end(token); // the connection is closing
    }
  }

  /** Returns one message. @throws Error  when it does not arrive */
  read(seq: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const onEnd = (missing: readonly number[]) => {
        if (missing.length > 0) reject(new Error(`message ${seq} of ${this.stream} cannot be read`));
      };
      this.readRun(seq, 1, { onMessage: (_, data) => resolve(data), onEnd });
    });
  }

  /** Ends all requests. */
  stop(): void {
    this.subscription?.unsubscribe();
    this.subscription = undefined;
    for (const token of [...this.running.keys()]) this.end(token);
  }

  private subscribe(): void {
    if (this.subscription && !this.subscription.isClosed()) return;
    this.prefix = `${createInbox(this.link.inboxPrefix)}.`;
    const callback = (_: Error | null, message: Msg) => this.receive(message);
    this.subscription = this.link.connection.subscribe(`${this.prefix}*`, { callback });
  }

  private receive({ subject, headers, data }: Msg): void {
    const token = subject.slice(this.prefix.length);
    const read = this.running.get(token);
    if (!read) return;
    const seq = Number(headers?.get('Nats-Sequence') || NaN);
    // A status: the end of a run, nothing stored from here on, or no server that has the stream.
    if (Number.isNaN(seq)) return this.end(token);
    if (read.missing.delete(seq)) read.listener.onMessage(seq, data);
    if (read.missing.size === 0) this.end(token);
    else read.timer.refresh();
  }

  private end(token: string): void {
    const read = this.running.get(token);
    if (!read) return;
    this.running.delete(token);
    clearTimeout(read.timer);
    read.listener.onEnd([...read.missing]);
  }

  private startTimer(token: string): NodeJS.Timeout {
    return setTimeout(() => this.end(token), REPLY_MS).unref();
  }
}

export const textOf = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString();
