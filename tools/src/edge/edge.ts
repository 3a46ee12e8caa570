import getPort, { portNumbers } from 'get-port';
import { createProxyServer } from 'httpxy';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { isReady, SERVICE_NAMES, type ServiceInstance, type ServiceName } from '../fleet/services.js';
import { readJson, ROOT } from '../paths.js';

/** A refused body up to this length is read to its end; then the connection can be used again. */
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;

/** Longer than clients keep an idle connection, so that none is closed while a request is on its way. */
const KEEP_ALIVE_MS = 75_000;

const HEADERS = {
  'x-frame-options': 'DENY',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'content-security-policy': "default-src 'self'",
  'x-content-type-options': 'nosniff',
};
const ERRORS = {
  400: { error: 'Bad Request', code: 'bad_request' },
  404: { error: 'Not Found', message: 'No service has this path.', code: 'not_found' },
  431: { error: 'Request headers and URL are larger than 16 KB', code: 'request_headers_too_large' },
  503: { error: 'Service temporarily unavailable', code: 'service_unavailable' },
};
const NOT_FOUND_TEXT =
  'No service has this path. The account pages are below /account, the API documentation is at /docs.\n';
const UNAVAILABLE_TEXT = 'This page is unavailable for a moment. Please load it again.\n';

export type Upstream = Pick<ServiceInstance, 'service' | 'port' | 'state'>;
export type Route = { prefix: string; service: ServiceName };

export const readRoutes = (): Route[] =>
  readJson<{ routes: Route[] }>(path.join(ROOT, 'deploy/routes.json'))?.routes ?? [];

/** Returns a function that finds the service of a path: the longest prefix wins, and a prefix ends at a slash. */
export function createRouter(routes: readonly Route[]): (target: string) => ServiceName | null {
  const longestFirst = [...routes].sort((a, b) => b.prefix.length - a.prefix.length);
  return (target) => longestFirst.find(({ prefix }) => `${target}/`.startsWith(`${prefix}/`))?.service ?? null;
}

/** Starts the HTTP server in front of all services. It routes by path, and to replicas in turn. */
export async function startEdge(
  instances: readonly Upstream[],
  preferredPort: number,
  routes: readonly Route[] = readRoutes(),
): Promise<LocalHttpServer> {
  const serviceOf = createRouter(routes);
  const agent = new http.Agent({ keepAlive: true, maxFreeSockets: 64, scheduling: 'lifo' });
  const proxy = createProxyServer({ agent, preserveHeaderKeyCase: true });
  proxy.on('proxyRes', (upstreamResponse, request) => {
    const length = Number(request.headers['content-length'] ?? Infinity);
    const isTooLong = !request.complete && !isBodyless(request) && length > MAX_DISCARDED_BYTES;
    upstreamResponse.headers.connection = isTooLong ? 'close' : 'keep-alive';
  });
  let requests = 0;

  /** Returns ready instances first, then those that start; each request begins with another one. */
  const candidatesOf = (service: string): Upstream[] => {
    const own = instances.filter((instance) => instance.service === service);
    const first = requests++ % Math.max(own.length, 1);
    const rotated = [...own.slice(first), ...own.slice(0, first)];
    return ['ready', 'starting'].flatMap((state) => rotated.filter((instance) => instance.state === state));
  };

  const forward = async (request: IncomingMessage, response: ServerResponse, requestId: string, service: string) => {
    const headers = headersFor(request, requestId);
    for (const { port } of candidatesOf(service)) {
      try {
        return await proxy.web(request, response, { target: { host: '127.0.0.1', port, protocol: 'http:' }, headers });
      } catch {
        if (response.headersSent || response.destroyed) return void response.destroy();
        if (!isBodyless(request)) break; // a part of the body may be used up
      }
    }
    request.unpipe();
    request.resume();
    if (isNavigation(request)) return sendText(response, 503, UNAVAILABLE_TEXT, { 'retry-after': '1' });
    sendError(response, requestId, 503);
  };

  const edge = await serveNear(preferredPort, (request, response) => {
    const requestId = requestIdOf(request);
    const target = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const service = serviceOf(target);
    if (service) return void forward(request, response, requestId, service);
    request.resume();
    if (target === '/health/live') return sendJson(response, 200, { status: 'ok' });
    if (target === '/health/ready') return void sendReadiness(response, instances);
    if (target === '/') return void response.writeHead(302, { location: '/docs' }).end();
    // Clients of MCP look for OAuth metadata there and expect JSON.
    if (!isNavigation(request) || target.startsWith('/.well-known/')) return sendError(response, requestId, 404);
    sendText(response, 404, NOT_FOUND_TEXT);
  });
  edge.server.keepAliveTimeout = KEEP_ALIVE_MS;
  edge.server.on('clientError', refuseUnparsed);
  edge.server.requestTimeout = 0; // an upload of 150 MB may take its time; the services have limits of their own
  return edge;
}

/** Responds to a request that the HTTP parser refused, for which there is no response object. */
function refuseUnparsed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable) return void socket.destroy();
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
  const requestId = randomUUID();
  const text = JSON.stringify(errorBody(status, requestId));
  const head = `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n`;
  const length = `Content-Length: ${Buffer.byteLength(text)}\r\nX-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n`;
  socket.end(head + length + text);
}

const isBodyless = ({ method = '', headers }: IncomingMessage): boolean =>
  ['GET', 'HEAD'].includes(method) && !headers['transfer-encoding'] && !Number(headers['content-length']);

/** A user opens an address in a browser, outside of the API. */
const isNavigation = ({ headers, url = '/' }: IncomingMessage): boolean =>
  (headers.accept?.includes('text/html') ?? false) && !url.startsWith('/api/');

function sendText(response: ServerResponse, status: number, text: string, headers = {}): void {
  response.writeHead(status, { ...HEADERS, ...headers, 'content-type': 'text/plain; charset=utf-8' }).end(text);
}

/** The services trust the edge as a proxy: it keeps an incoming X-Forwarded-For and appends the peer. */
function headersFor(request: IncomingMessage, requestId: string): Record<string, string> {
  const before = request.headers['x-forwarded-for'];
  const peer = request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? '';
  return {
    'x-forwarded-for': before ? `${String(before)}, ${peer}` : peer,
    'x-forwarded-proto': String(request.headers['x-forwarded-proto'] ?? 'http'),
    'x-request-id': requestId,
    connection: 'keep-alive',
  };
}

async function sendReadiness(response: ServerResponse, instances: readonly Upstream[]): Promise<void> {
  const checks = SERVICE_NAMES.map(async (name) => {
    const own = instances.filter(({ service }) => service === name);
    const ready = await Promise.all(own.map(({ port }) => isReady(port)));
    return [name, ready.includes(true) ? 'up' : 'down'];
  });
  const states = Object.fromEntries(await Promise.all(checks)) as Record<string, string>;
  const isUp = Object.values(states).every((state) => state === 'up');
  const body = { status: isUp ? 'ok' : 'unavailable', checks: states };
  sendJson(response, isUp ? 200 : 503, body, isUp ? {} : { 'retry-after': '1' });
}

function requestIdOf({ headers }: IncomingMessage): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : randomUUID();
}

function sendJson(response: ServerResponse, status: number, body: object, headers = {}): void {
  const text = JSON.stringify(body);
  const type = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, { ...HEADERS, ...type, ...headers }).end(text);
}

function errorBody(status: keyof typeof ERRORS, requestId: string): object {
  return { message: ERRORS[status].error, ...ERRORS[status], requestId };
}

function sendError(response: ServerResponse, requestId: string, status: keyof typeof ERRORS): void {
  const headers = { 'x-request-id': requestId, ...(status === 503 && { 'retry-after': '1' }) };
  sendJson(response, status, errorBody(status, requestId), headers);
}

export type LocalHttpServer = Awaited<ReturnType<typeof serve>>;

/** Serves HTTP on 127.0.0.1 at the preferred port or one of the next hundred. */
export async function serveNear(preferred: number, listener: RequestListener): Promise<LocalHttpServer> {
  const ports = portNumbers(preferred, Math.min(preferred + 99, 65_535));
  return serve(await getPort({ host: '127.0.0.1', port: ports }), listener);
}

export async function serve(port: number, listener: RequestListener) {
  const server = http.createServer(listener).listen({ port, host: '127.0.0.1', exclusive: true });
  await once(server, 'listening');
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections());
  return { url: `http://127.0.0.1:${port}`, port, server, close };
}
