import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { Identity } from './certificates.js';

/** Listens with HTTP, plain TCP or plain TLS on free ports until `stop`. */
export class Receivers {
  private readonly servers = new Set<Server | TcpServer>();

  async http(reply: RequestListener, host = '127.0.0.1'): Promise<number> {
    return this.listen(createServer(reply), host);
  }

  async tcp(reply: (socket: Socket) => void, host = '127.0.0.1'): Promise<number> {
    return this.listen(
      createTcpServer((socket) => reply(socket.on('error', () => undefined))),
      host,
    );
  }

  /** Passes sockets to the handler after their handshake. */
  async tls(identity: Identity, reply: (socket: TLSSocket) => void, host = '127.0.0.1'): Promise<number> {
    return this.listen(
      createTlsServer(identity, (socket) => reply(socket.on('error', () => undefined))),
      host,
    );
  }

  /** Accepts no more connections and waits until the open ones are closed. */
  async drain(): Promise<void> {
    await Promise.all([...this.servers].map((server) => new Promise((resolve) => server.close(resolve))));
    this.servers.clear();
  }

  stop(): void {
    for (const server of this.servers) {
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
    }
    this.servers.clear();
  }

  private listen(server: Server | TcpServer, host: string): Promise<number> {
    this.servers.add(server);
    return new Promise((resolve) => server.listen(0, host, () => resolve((server.address() as AddressInfo).port)));
  }
}
