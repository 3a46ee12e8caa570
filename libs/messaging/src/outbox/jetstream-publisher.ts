import { createInbox, headers, type Msg, type NatsConnection, type Subscription } from 'nats';
import type { NatsLink } from '../connection/nats-link.js';

/** The stream said no to this message; others may go. */
export class PublishRefused extends Error {
  override name = 'PublishRefused';
}

/** Nothing can be published at present: no answer, no stream, no connection. */
export class NatsUnreachable extends Error {
  override name = 'NatsUnreachable';
}

interface Pending {
  subject: string;
  sentAt: number;
  resolve(): void;
  reject(error: Error): void;
}

const ACK_TIMEOUT_MS = 5_000;
const SWEEP_MS = 500;
const ERROR_FIELD = '"error"';

/**
 * Publishes to JetStream and resolves with the stream's acknowledgement.
 * The client's own `jetstream().publish` makes a timer, a stack trace and a parsed reply per message; with one reply
 * inbox, one sweep for all timeouts and a look at the reply's text, a message costs about half of that.
 */
export class JetStreamPublisher {
  private readonly pending = new Map<string, Pending>();
  private connection?: NatsConnection;
  private subscription?: Subscription;
  private inbox = '';
  private counter = 0;
  private sweeper?: NodeJS.Timeout;

  constructor(private readonly link: NatsLink) {
    link.onDisconnect(() => this.failAll(new NatsUnreachable('The NATS connection was lost')));
    link.onForbiddenPublish((subject) => this.refuse(subject));
  }

  /** @throws PublishRefused, NatsUnreachable */
  publish(subject: string, payload: string, messageId: string): Promise<void> {
    if (!this.link.isConnected) return Promise.reject(new NatsUnreachable('NATS is not connected'));
    const connection = this.open();
    const token = (this.counter++).toString(36);
    const sent = headers();
    sent.set('Nats-Msg-Id', messageId);
    return new Promise((resolve, reject) => {
      this.pending.set(token, { subject, sentAt: performance.now(), resolve, reject });
      try {
        connection.publish(subject, payload, { reply: this.inbox + token, headers: sent });
      } catch (error) {
        this.pending.delete(token);
        reject(new NatsUnreachable('The NATS connection is closed', { cause: error }));
      }
    });
  }

  /** Sends without a stream, for who listens now. @see flush */
  broadcast(subject: string, payload: string): void {
    if (!this.link.isConnected) throw new NatsUnreachable('NATS is not connected');
    this.open().publish(subject, payload);
  }

  /** Resolves when the server has everything sent so far. @throws NatsUnreachable */
  async flush(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new NatsUnreachable('NATS does not answer')), ACK_TIMEOUT_MS);
    });
    try {
      await Promise.race([this.open().flush(), late]);
    } catch (error) {
      throw error instanceof NatsUnreachable
        ? error
        : new NatsUnreachable('The NATS connection is closed', { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    clearInterval(this.sweeper);
    this.subscription?.unsubscribe();
    this.failAll(new NatsUnreachable('The publisher is closed'));
  }

  private open(): NatsConnection {
    if (this.connection) return this.connection;
    const connection = this.link.connection;
    this.inbox = `${createInbox(this.link.inboxPrefix)}.`;
    const callback = (_error: Error | null, message: Msg): void => this.settle(message);
    this.subscription = connection.subscribe(`${this.inbox}*`, { callback });
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS).unref();
    return (this.connection = connection);
  }

  private settle(message: Msg): void {
    const token = message.subject.slice(this.inbox.length);
    const waiting = this.pending.get(token);
    if (!waiting) return;
    this.pending.delete(token);
    if (message.headers?.code === 503) return waiting.reject(new NatsUnreachable('No stream takes this subject'));
    const reply = message.string();
    if (!reply.includes(ERROR_FIELD)) return waiting.resolve();
    waiting.reject(refusalOf(reply));
  }

  private sweep(): void {
    const oldest = performance.now() - ACK_TIMEOUT_MS;
    for (const [token, waiting] of this.pending) {
      if (waiting.sentAt > oldest) return;
      this.pending.delete(token);
      waiting.reject(new NatsUnreachable('The stream did not acknowledge in time'));
    }
  }

  private refuse(subject: string): void {
    for (const [token, waiting] of this.pending) {
      if (waiting.subject !== subject) continue;
      this.pending.delete(token);
      waiting.reject(new PublishRefused(`This login may not publish on ${subject}`));
    }
  }

  private failAll(error: Error): void {
    for (const waiting of this.pending.values()) waiting.reject(error);
    this.pending.clear();
  }
}

/** 4xx: this message is at fault. 5xx: the server is not able to just now. */
function refusalOf(reply: string): Error {
  const { error } = JSON.parse(reply) as { error?: { code?: number; description?: string } };
  const text = error?.description ?? 'refused';
  return (error?.code ?? 500) < 500 ? new PublishRefused(text) : new NatsUnreachable(text);
}
