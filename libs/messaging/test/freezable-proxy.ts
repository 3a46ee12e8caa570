import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

/**
 * TCP proxy that makes a server appear frozen, like a process under SIGSTOP: the kernel accepts connections that get no
 * response, and buffers some of what is sent. After the thaw the server processes all of it.
 */
export interface FreezableProxy {
  /** The given URL, through this proxy. */
  url: string;
  freeze(): void;
  thaw(): void;
  /** Number of open connections of the client. */
  open(): number;
  /** Number of those opened since the freeze. */
  unanswered(): number;
  /** Closes the next `count` connections after the first message of the server. */
  hangUpOn(count: number): void;
  /** Number of connections that are still to be closed. */
  toHangUpOn(): number;
  close(): Promise<void>;
}

export async function openFreezableProxy(target: string): Promise<FreezableProxy> {
  const { hostname, port } = new URL(target);
  const clients = new Set<Socket>();
  const joined = new Set<Socket>();
  const waiting = new Map<Socket, () => void>();
  let frozen = false;
  let hangUps = 0;

  const server = createServer((client) => {
    clients.add(client);
    client.on('error', () => undefined);
    client.on('close', () => {
      clients.delete(client);
      joined.delete(client);
      waiting.delete(client);
    });
    if (frozen) waiting.set(client, () => join(client));
    else join(client);
    client.resume(); // needed to receive its close; it sends nothing before the first message of the server
  });
  function join(client: Socket): void {
    const upstream = createConnection({ host: hostname, port: Number(port) });
    joined.add(client).add(upstream);
    client.on('data', (chunk) => upstream.write(chunk));
    client.on('close', () => upstream.end());
    upstream.on('error', () => undefined);
    upstream.on('close', () => {
      joined.delete(upstream);
      client.end();
    });
    const hangUp = hangUps > 0;
    upstream.on('data', (chunk) => {
      client.write(chunk);
      if (!hangUp) return;
      hangUps--;
      client.destroy();
    });
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    freeze: () => {
      frozen = true;
      for (const socket of joined) socket.pause();
    },
    thaw: () => {
      frozen = false;
      for (const socket of joined) socket.resume();
      for (const start of waiting.values()) start();
      waiting.clear();
    },
    open: () => clients.size,
    unanswered: () => waiting.size,
    hangUpOn: (count) => void (hangUps = count),
    toHangUpOn: () => hangUps,
    close: async () => {
      for (const socket of [...clients, ...joined]) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
