import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { Identity } from './certificates.js';

/** HTTP, bare TCP or bare TLS on a free port, until `stop`. */
export class Receivers {
  private readonly servers = new Set<Server | TcpServer>();

  async http(answer: RequestListener, host = '127.0.0.1'): Promise<number> {
    return this.listen(createServer(answer), host);
  }

  async tcp(answer: (socket: Socket) => void, host = '127.0.0.1'): Promise<number> {
    return this.listen(
      createTcpServer((socket) => answer(socket.on('error', () => undefined))),
      host,
    );
  }

  /** Hands over the sockets whose handshake is done. */
  async tls(identity: Identity, answer: (socket: TLSSocket) => void, host = '127.0.0.1'): Promise<number> {
    return this.listen(
      createTlsServer(identity, (socket) => answer(socket.on('error', () => undefined))),
      host,
    );
  }

  /** Takes no more connections, and ends when those there are have been closed. */
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
