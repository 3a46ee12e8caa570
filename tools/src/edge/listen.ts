import getPort, { portNumbers } from 'get-port';
import { once } from 'node:events';
import http, { type RequestListener } from 'node:http';

export type LocalHttpServer = Awaited<ReturnType<typeof serve>>;

/** Serves HTTP on 127.0.0.1 at the preferred port or one of the next hundred. */
export async function serveNear(preferred: number, listener: RequestListener): Promise<LocalHttpServer> {
  const ports = portNumbers(preferred, Math.min(preferred + 99, 65_535));
  return serve(await getPort({ host: '127.0.0.1', port: ports }), listener);
}

/** Serves HTTP on 127.0.0.1. @throws when the port is taken */
export async function serve(port: number, listener: RequestListener) {
  const server = http.createServer(listener).listen({ port, host: '127.0.0.1', exclusive: true });
  await once(server, 'listening');
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections());
  return { url: `http://127.0.0.1:${port}`, port, server, close };
}
