import http from 'node:http';
import { isReady } from '../fleet/health.mjs';
import { serviceNames } from '../fleet/services.mjs';
import { NOT_FOUND, requestIdOf, sendError, sendJson, UNAVAILABLE } from './answers.mjs';
import { Balancer } from './balancer.mjs';
import { forward } from './forward.mjs';
import { listenNear } from './listen.mjs';
import { readRoutes, routingTable } from './routing-table.mjs';

/**
 * One port in front of all services.
 * @param {{ supervisor: { instances: object[] }, wishedPort: number, routes?: object[] }} options
 * @returns {Promise<{ url: string, port: number, close: () => Promise<void> }>}
 */
export async function startEdge({ supervisor, wishedPort, routes = readRoutes() }) {
  const serviceOf = routingTable(routes);
  const balancer = new Balancer(supervisor);
  const agent = new http.Agent({ keepAlive: true, maxFreeSockets: 64, scheduling: 'lifo' });

  const server = http.createServer((request, response) => {
    const requestId = requestIdOf(request);
    handle({ request, response, requestId }).catch(() => {
      if (!response.headersSent) sendError(response, requestId, UNAVAILABLE);
    });
  });
  server.requestTimeout = 0; // uploads of 150 MB may take their time; the services have limits of their own

  async function handle({ request, response, requestId }) {
    const path = request.url.split('?', 1)[0];
    if (path === '/health/live') return sendJson(response, 200, { status: 'ok' });
    if (path === '/health/ready') return sendReadiness(response, supervisor);
    const service = serviceOf(path);
    if (!service) return refuse(request, response, requestId, NOT_FOUND);
    for (const instance of balancer.candidates(service)) {
      const outcome = await forward({ request, response, instance, agent, requestId });
      if (outcome === 'answered' || response.headersSent || response.destroyed) return;
      balancer.eject(instance);
      if (outcome === 'broken') break;
    }
    refuse(request, response, requestId, UNAVAILABLE);
  }

  const port = await listenNear(server, wishedPort);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: () => {
      balancer.close();
      agent.destroy();
      return new Promise((resolve) => server.close(resolve).closeAllConnections());
    },
  };
}

/** The body nobody will read is let go. */
function refuse(request, response, requestId, refusal) {
  if (!response.headersSent) sendError(response, requestId, refusal);
  request.resume();
}

/** Ready means that every service has an instance that is. */
async function sendReadiness(response, supervisor) {
  const checks = await Promise.all(
    serviceNames.map(async (name) => {
      const instances = supervisor.instances.filter(({ service }) => service === name);
      const answers = await Promise.all(instances.map(({ port }) => isReady(port)));
      return [name, answers.includes(true) ? 'up' : 'down'];
    }),
  );
  const ready = checks.every(([, state]) => state === 'up');
  const body = { status: ready ? 'ok' : 'unavailable', checks: Object.fromEntries(checks) };
  sendJson(response, ready ? 200 : 503, body, ready ? {} : { 'retry-after': '1' });
}
