import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A connection to a shared server that one spec file can interrupt without affecting the others. */
export interface TcpProxy {
  /** The given URL, through the gate. */
  url: string;
  /** The server is down: open connections break, new ones are refused. */
  shut(): Promise<void>;
  /** The server hangs: connections stay, nothing passes. */
  stall(): void;
  /** The server was replaced without closing its connections: those that are open hang, new ones pass. */
  replace(): void;
  /** Everything passes again, except what `replace` left. */
  open(): Promise<void>;
  /** Counts round trips: a client sends for the first time, or after a reply. */
  roundTrips(): number;
  close(): Promise<void>;
}

export async function openTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<[Socket, Socket]>();
  const left = new Set<Socket>();
  let stalled = false;
  let trips = 0;

  const server = createServer((client) => {
    const upstream = connect({ host: hostname, port: Number(port) });
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    let hasReplied = true;
    client.on('data', (chunk) => {
      if (hasReplied) trips++;
      hasReplied = false;
      if (!stalled && !left.has(client)) upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      hasReplied = true;
      if (!stalled && !left.has(client)) client.write(chunk);
    });
    for (const [from, to] of [pair, [upstream, client] as const]) {
      from.on('error', () => to.destroy());
      from.on('close', () => {
        pairs.delete(pair);
        to.destroy();
      });
    }
  });
  const listen = (at: number) =>
    new Promise<void>((resolve, reject) => server.once('error', reject).listen(at, '127.0.0.1', () => resolve()));
  await listen(0);
  const ownPort = (server.address() as AddressInfo).port;
  const shut = async () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  const url = new URL(target);
  url.port = String(ownPort);
  return {
    url: url.href,
    shut,
    stall: () => void (stalled = true),
    replace: () => pairs.forEach(([client]) => left.add(client)),
    open: async () => {
      stalled = false;
      if (!server.listening) await listen(ownPort);
    },
    roundTrips: () => trips,
    close: shut,
  };
}
