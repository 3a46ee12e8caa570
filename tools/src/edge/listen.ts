import http, { type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import getPort, { portNumbers } from 'get-port';

export interface LocalHttpServer {
  url: string;
  port: number;
  server: Server;
  close(): Promise<void>;
}

/** Serves HTTP on 127.0.0.1 at the preferred port or one of the next hundred. */
export async function serveNear(preferred: number, listener: RequestListener): Promise<LocalHttpServer> {
  const ports = portNumbers(preferred, Math.min(preferred + 99, 65_535));
  return serve(await getPort({ host: '127.0.0.1', port: ports }), listener);
}

/** Serves HTTP on 127.0.0.1. @throws when the port is taken */
export async function serve(wanted: number, listener: RequestListener): Promise<LocalHttpServer> {
  const server = http.createServer(listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ port: wanted, host: '127.0.0.1', exclusive: true }, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections());
  return { url: `http://127.0.0.1:${port}`, port, server, close };
}
