import { Logger } from '@nestjs/common';
import { type ConnectionOptions, Events, type NatsConnection, type Status } from 'nats';
import pRetry from 'p-retry';
import pTimeout from 'p-timeout';
import { natsOptions } from './nats-options.js';
import { connectNats } from './nats.transport.js';

export interface NatsLinkOptions {
  url: string;
  name: string;
  /** Time limit for the first connection, in milliseconds; the start fails after it. */
  startWithinMs?: number;
  /** Overrides `natsOptions`; specs use it to notice an outage sooner. */
  client?: Pick<ConnectionOptions, 'pingInterval' | 'timeout'>;
}

/**
 * Owns the one NATS connection of a process. The first connection is retried for a limited time; later outages heal.
 */
export class NatsLink {
  private readonly logger = new Logger('NATS');
  private readonly disconnected = new Set<() => void>();
  private readonly reconnected = new Set<() => void>();
  private readonly forbidden = new Set<(subject: string) => void>();
  private readonly closed = new AbortController();
  private nc?: NatsConnection;
  private opening?: Promise<NatsConnection>;
  private alive = false;
  private closing = false;

  constructor(private readonly options: NatsLinkOptions) {}

  /** Returns the connection. @throws Error  before `open` has resolved */
  get connection(): NatsConnection {
    if (!this.nc) throw new Error('The NATS connection is not open yet');
    return this.nc;
  }

  /** Prefix of the subjects on which this login receives replies. */
  get inboxPrefix(): string {
    return natsOptions(this.options.url, this.options.name).inboxPrefix ?? '_INBOX';
  }

  /** False from the moment an outage is noticed until the connection is back. */
  get isConnected(): boolean {
    return this.alive && !this.closing;
  }

  /** Connects, retrying every half second; a second call waits for the first. */
  open(): Promise<NatsConnection> {
    return (this.opening ??= this.connectWithin(this.options.startWithinMs ?? 60_000));
  }

  onDisconnect(listener: () => void): void {
    this.disconnected.add(listener);
  }

  onReconnect(listener: () => void): void {
    this.reconnected.add(listener);
  }

  /** Calls the listener when the server refused a message because of the permissions of this login. */
  onForbiddenPublish(listener: (subject: string) => void): void {
    this.forbidden.add(listener);
  }

  /** Checks the connection for the readiness probe. @throws Error  when the server does not reply within a second */
  async check(): Promise<void> {
    if (!this.nc || !this.isConnected) throw new Error('NATS is not connected');
    await pTimeout(this.nc.rtt(), { milliseconds: 1_000, message: 'NATS does not respond' });
  }

  /** Sends what is buffered, ends subscriptions and closes; takes at most 3 seconds when the server is down. */
  async close(): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    const nc = await this.opening?.catch(() => undefined);
    if (!nc || nc.isClosed()) return;
    if (this.alive) await pTimeout(nc.drain(), { milliseconds: 3_000, message: false }).catch(() => undefined);
    this.closed.abort();
    await nc.close();
  }

  private connectWithin(limitMs: number): Promise<NatsConnection> {
    const deadline = performance.now() + limitMs;
    return pRetry(() => this.connect(), {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 500,
      factor: 1,
      shouldRetry: () => !this.closing && performance.now() < deadline,
      onFailedAttempt: ({ error, attemptNumber }) => {
        if (attemptNumber === 1) this.logger.warn(`NATS is unavailable; retrying until it responds: ${error.message}`);
      },
    }).catch((cause: unknown) => {
      throw new Error('NATS is unavailable', { cause });
    });
  }

  private async connect(): Promise<NatsConnection> {
    const { url, name, client } = this.options;
    const nc = await connectNats({ ...natsOptions(url, name), ...client, closed: this.closed.signal });
    this.nc = nc;
    this.alive = true;
    void this.follow(nc);
    return nc;
  }

  private async follow(nc: NatsConnection): Promise<void> {
    for await (const status of nc.status()) {
      if (status.type === Events.Disconnect) {
        if (this.alive && !this.closing) this.logger.warn('NATS connection lost; reconnecting');
        this.alive = false;
        for (const listener of this.disconnected) listener();
      } else if (status.type === Events.Reconnect) {
        if (this.alive) continue; // the client repeats it for every dial that broke off during the handshake
        this.alive = true;
        this.logger.log('NATS connection is back');
        for (const listener of this.reconnected) listener();
      } else if (status.type === Events.Error) {
        this.report(status);
      }
    }
    this.alive = false;
  }

  private report({ data, permissionContext }: Status): void {
    this.logger.error({ message: 'NATS reported an error', code: data, permission: permissionContext });
    if (permissionContext?.operation !== 'publish') return;
    for (const listener of this.forbidden) listener(permissionContext.subject);
  }
}
