import { createInbox, headers, type Msg, type NatsConnection, type Subscription } from 'nats';
import type { NatsLink } from '../connection/nats-link.service.js';
import { NatsUnavailable, PublishRefused } from '../messaging.errors.js';
import { YieldingRunner } from './yielding-runner.js';

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
 * `jetstream().publish` of the client creates a timer, a stack trace and a parsed reply per message. One reply inbox, one
 * timer for all timeouts and a search in the text of the reply halve the cost of a message.
 */
export class JetStreamPublisher {
  private readonly pending = new Map<string, Pending>();
  private readonly runner = new YieldingRunner();
  private connection?: NatsConnection;
  private subscription?: Subscription;
  private inbox = '';
  private counter = 0;
  private sweeper?: NodeJS.Timeout;

  constructor(private readonly link: NatsLink) {
    link.onDisconnect(() => this.failAll(new NatsUnavailable('The NATS connection was lost')));
    link.onForbiddenPublish((subject) => this.refuse(subject));
  }

  /**
   * Sends a message, at once or a little later: one read can bring the acknowledgements of a hundred messages, and sending the next
   * hundred takes 20 ms or more, in which requests of this process would wait.
   * @throws PublishRefused, NatsUnavailable
   */
  publish(subject: string, payload: string, messageId: string): Promise<void> {
    return this.runner.run(() => this.send(subject, payload, messageId));
  }

  close(): void {
    clearInterval(this.sweeper);
    this.subscription?.unsubscribe();
    this.failAll(new NatsUnavailable('The publisher is closed'));
  }

  private send(subject: string, payload: string, messageId: string): Promise<void> {
    if (!this.link.isConnected) throw new NatsUnavailable('NATS is not connected');
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
        reject(new NatsUnavailable('The NATS connection is closed', { cause: error }));
      }
    });
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
    if (message.headers?.code === 503) return waiting.reject(new NatsUnavailable('No stream has this subject'));
    const reply = message.string();
    if (!reply.includes(ERROR_FIELD)) return waiting.resolve();
    waiting.reject(refusalOf(reply));
  }

  private sweep(): void {
    const oldest = performance.now() - ACK_TIMEOUT_MS;
    for (const [token, waiting] of this.pending) {
      if (waiting.sentAt > oldest) return;
      this.pending.delete(token);
      waiting.reject(new NatsUnavailable('The stream did not acknowledge in time'));
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

/** The server's code when the account has used up its storage, which it reports as a fault of the message. */
const STORAGE_USED_UP = 10_002;

/** Maps 4xx to a fault of this message; 5xx and a lack of storage to a temporary fault of the server. */
function refusalOf(reply: string): Error {
  const { error } = JSON.parse(reply) as { error?: { code?: number; err_code?: number; description?: string } };
  const text = error?.description ?? 'refused';
  const isOfMessage = (error?.code ?? 500) < 500 && error?.err_code !== STORAGE_USED_UP;
  return isOfMessage ? new PublishRefused(text) : new NatsUnavailable(text);
}
