import { Logger } from '@nestjs/common';
import { type ConnectionOptions, Events, type NatsConnection, type Status } from 'nats';
import { setTimeout as sleep } from 'node:timers/promises';
import { natsOptions } from './nats-options.js';
import { connectNats } from './nats-transport.js';

export interface NatsLinkOptions {
  url: string;
  name: string;
  /** How long the first connection is tried before start-up fails, in milliseconds. */
  startWithinMs?: number;
  /** Instead of what `natsOptions` says, for a spec in a hurry. */
  client?: Pick<ConnectionOptions, 'pingInterval' | 'timeout'>;
}

/**
 * The one NATS connection of a process. The first connection is tried with a bound; from then on it heals by itself.
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

  /** The connection. @throws Error  before `open` has resolved */
  get connection(): NatsConnection {
    if (!this.nc) throw new Error('The NATS connection is not open yet');
    return this.nc;
  }

  /** Where replies to this login go. */
  get inboxPrefix(): string {
    return natsOptions(this.options.url, this.options.name).inboxPrefix ?? '_INBOX';
  }

  /** False from the moment a dead server is noticed until it is back. */
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

  /** The server refused to take a message on this subject from our login. */
  onForbiddenPublish(listener: (subject: string) => void): void {
    this.forbidden.add(listener);
  }

  /** For the readiness probe. @throws Error  when the server does not answer within a second */
  async check(): Promise<void> {
    if (!this.nc || !this.isConnected) throw new Error('NATS is not connected');
    const answered = await Promise.race([this.nc.rtt().then(() => true), sleep(1_000, false, { ref: false })]);
    if (!answered) throw new Error('NATS does not answer');
  }

  /** Sends what is buffered, ends subscriptions, closes. Bounded: a server that is down is not waited for. */
  async close(): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    const nc = await this.opening?.catch(() => undefined);
    if (!nc || nc.isClosed()) return;
    if (this.alive) await Promise.race([nc.drain().catch(() => undefined), sleep(3_000, undefined, { ref: false })]);
    this.closed.abort();
    await nc.close();
  }

  private async connectWithin(boundMs: number): Promise<NatsConnection> {
    const deadline = performance.now() + boundMs;
    for (let attempt = 1; ; attempt++) {
      try {
        const { url, name, client } = this.options;
        const nc = await connectNats({ ...natsOptions(url, name), ...client, closed: this.closed.signal });
        this.nc = nc;
        this.alive = true;
        void this.follow(nc);
        return nc;
      } catch (error) {
        if (this.closing || performance.now() > deadline) throw new Error('NATS cannot be reached', { cause: error });
        if (attempt === 1) this.logger.warn(`NATS cannot be reached, trying again: ${(error as Error).message}`);
        await sleep(500);
      }
    }
  }

  private async follow(nc: NatsConnection): Promise<void> {
    for await (const status of nc.status()) {
      if (status.type === Events.Disconnect) {
        if (this.alive && !this.closing) this.logger.warn('NATS connection lost');
        this.alive = false;
        for (const listener of this.disconnected) listener();
      } else if (status.type === Events.Reconnect) {
        if (this.alive) continue; // the client says it once more for every dial that broke off half-way
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
