import type { ConnectionOptions, NatsConnection } from 'nats';
import { NatsConnectionImpl } from 'nats/lib/nats-base-client/nats.js';
import { setTransportFactory } from 'nats/lib/nats-base-client/transport.js';
import { nodeResolveHost, NodeTransport } from 'nats/lib/src/node_transport.js';
import { createConnection, type Socket } from 'node:net';

export interface LinkConnectionOptions extends ConnectionOptions {
  /** Once aborted, no server is dialed any more. */
  closed?: AbortSignal;
}

/**
 * Connects like the client's own `connect`, on sockets that are destroyed when the client gives them up.
 * The client stores its transport per process: a later call of its own `connect` would use the original sockets again.
 * @see docs/decisions/0011-close-sockets-of-abandoned-dials.md
 */
export function connectNats(options: LinkConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new EndingTransport(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect(options);
}

/** One socket to one server. Reports only a lost connection as closed, not one that the client gives up. */
class EndingTransport extends NodeTransport {
  override async connect(server: Parameters<NodeTransport['connect']>[0], options: LinkConnectionOptions) {
    if (options.closed?.aborted) throw new Error('The NATS connection was closed'); // during the DNS lookup
    await super.connect(server, options);
  }

  /** Stores the socket before the server has accepted it, so that a dial can be given up at any point. */
  override dial({ hostname, port }: { hostname: string; port: number }): Promise<Socket> {
    const socket = createConnection({ host: hostname, port, noDelay: true });
    this.socket = socket;
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('The dial was given up')));
      socket.once('connect', () => {
        socket.removeAllListeners();
        resolve(socket);
      });
    });
  }

  /** Called when a dial failed or the client closes. Reports nothing: the client would dial a second time. */
  override close(): Promise<void> {
    this.end();
    return Promise.resolve();
  }

  /** Called when another connection replaces this one. */
  override discard(): void {
    this.end();
  }

  /** Called when the server is silent. Does not flush, since a silent server would block it. */
  override disconnect(): void {
    void super.close();
  }

  private end(): void {
    this.done = true;
    this.socket?.destroy();
  }
}
