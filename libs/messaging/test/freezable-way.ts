import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

/**
 * A way to a server that freezes as a process under SIGSTOP does: the kernel goes on accepting connections, which
 * nobody answers, and takes a few buffers of what is sent. Thawed, the server works through all of it.
 */
export interface FreezableWay {
  /** The given URL, by this way. */
  url: string;
  freeze(): void;
  thaw(): void;
  /** Connections the client has open. */
  open(): number;
  /** Of these, the ones made since the freeze. */
  unanswered(): number;
  /** Hangs up on the next `count` connections as soon as the server has greeted. */
  hangUpOn(count: number): void;
  /** How many are still to be hung up on. */
  toHangUpOn(): number;
  close(): Promise<void>;
}

export async function openFreezableWay(target: string): Promise<FreezableWay> {
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
    client.resume(); // to hear that it closes; before the greeting it sends nothing
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
