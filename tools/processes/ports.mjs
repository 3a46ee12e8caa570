import net from 'node:net';

const given = new Set();

/**
 * A TCP port nobody listens on. The wished one when it is free, so that addresses stay the same between runs.
 * No port is given out twice by one process, even before its server listens.
 */
export async function freePort(wished, host = '127.0.0.1') {
  for (const port of [wished, 0, 0, 0, 0, 0]) {
    if (port === undefined || port === null || given.has(port)) continue;
    const free = await tryListen(port, host);
    if (free && !given.has(free)) {
      given.add(free);
      return free;
    }
  }
  throw new Error('no free port found');
}

/** Lets a port be asked for again, after its server ended. */
export const givePortBack = (port) => given.delete(port);

function tryListen(port, host) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(null));
    server.listen({ host, port, exclusive: true }, () => {
      const chosen = server.address().port;
      server.close(() => resolve(chosen));
    });
  });
}
