import type { ConnectionOptions, NatsConnection } from 'nats';
import { NatsConnectionImpl } from 'nats/lib/nats-base-client/nats.js';
import { setTransportFactory } from 'nats/lib/nats-base-client/transport.js';
import { nodeResolveHost, NodeTransport } from 'nats/lib/src/node_transport.js';
import { createConnection, type Socket } from 'node:net';

export interface LinkConnectionOptions extends ConnectionOptions {
  /** Once aborted, no server is dialled any more. */
  closed?: AbortSignal;
}

/**
 * As the client's own `connect`, on sockets that end when the client is done with them.
 * The client keeps its transport for the process: its own `connect`, called later, takes the redials back.
 * @see docs/decisions/0011-sockets-end-with-their-dial.md
 */
export function connectNats(options: LinkConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new EndingTransport(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect(options);
}

/** One socket to one server. Only a connection that is lost is reported as closed, not one the client gives up. */
class EndingTransport extends NodeTransport {
  override async connect(server: Parameters<NodeTransport['connect']>[0], options: LinkConnectionOptions) {
    if (options.closed?.aborted) throw new Error('The NATS connection was closed'); // while the name was looked up
    await super.connect(server, options);
  }

  /** Knows the socket before the server has accepted it, so that a dial can be given up at any point. */
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

  /** The dial failed or the client is being closed; the client knows, and would dial twice if it were told. */
  override close(): Promise<void> {
    this.end();
    return Promise.resolve();
  }

  /** Another connection takes this one's place. */
  override discard(): void {
    this.end();
  }

  /** The server is silent: what it has not taken cannot be flushed, so do not wait for that. */
  override disconnect(): void {
    void super.close();
  }

  private end(): void {
    this.done = true;
    this.socket?.destroy();
  }
}
