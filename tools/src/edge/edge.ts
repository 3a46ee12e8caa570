import { createProxyServer } from 'httpxy';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { isReady, type ServiceInstance } from '../fleet/service-instances.js';
import { SERVICE_NAMES } from '../fleet/services.js';
import { type LocalHttpServer, serveNear } from './listen.js';
import { requestIdOf, sendJson, sendLinkText, sendNotFound, sendUnavailable } from './responses.js';
import { createRouter, readRoutes, type Route } from './routes.js';

/** A refused body up to this length is read to its end; then the connection can be used again. */
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;

export type Upstream = Pick<ServiceInstance, 'service' | 'port' | 'state'>;

/** Starts the HTTP server in front of all services. It routes by path, and to replicas in turn. */
export async function startEdge(options: {
  instances: readonly Upstream[];
  port: number;
  routes?: Route[];
}): Promise<LocalHttpServer> {
  const { instances } = options;
  const serviceOf = createRouter(options.routes ?? readRoutes());
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
    sendUnavailable(response, requestId);
  };

  const edge = await serveNear(options.port, (request, response) => {
    const requestId = requestIdOf(request);
    const target = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const service = serviceOf(target);
    if (service) return void forward(request, response, requestId, service);
    request.resume();
    if (target === '/health/live') return sendJson(response, 200, { status: 'ok' });
    if (target === '/health/ready') return void sendReadiness(response, instances);
    if (target === '/') return void response.writeHead(302, { location: '/docs' }).end();
    const isBrowser = request.headers.accept?.includes('text/html') && !target.startsWith('/api/');
    return isBrowser ? sendLinkText(response) : sendNotFound(response, requestId);
  });
  edge.server.requestTimeout = 0; // an upload of 150 MB may take its time; the services have limits of their own
  return edge;
}

const isBodyless = ({ method = '', headers }: IncomingMessage): boolean =>
  ['GET', 'HEAD'].includes(method) && !headers['transfer-encoding'] && !Number(headers['content-length']);

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

/** Reports ready when every service has a ready instance. */
async function sendReadiness(response: ServerResponse, instances: readonly Upstream[]): Promise<void> {
  const checks: Record<string, string> = {};
  for (const name of SERVICE_NAMES) {
    const own = instances.filter(({ service }) => service === name);
    const ready = await Promise.all(own.map(({ port }) => isReady(port)));
    checks[name] = ready.includes(true) ? 'up' : 'down';
  }
  const isUp = Object.values(checks).every((state) => state === 'up');
  const body = { status: isUp ? 'ok' : 'unavailable', checks };
  sendJson(response, isUp ? 200 : 503, body, isUp ? {} : { 'retry-after': '1' });
}
