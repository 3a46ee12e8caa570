import { Agent, get as httpGet } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@rmm/testing-services';
import { DispatcherTestCluster } from '../test/dispatcher-test-cluster.js';
import { buildService, ServiceProcess } from '../test/service-process.js';

jest.setTimeout(60_000);

const DELAY_SECONDS = 3;

interface Reply {
  status: number;
  connection?: string;
}

describe('a process that receives SIGTERM', () => {
  let cluster: DispatcherTestCluster;

  beforeAll(async () => {
    buildService();
    cluster = await DispatcherTestCluster.open({ logins: true });
  }, 240_000);
  afterAll(() => cluster.close(), 30_000);

  it('serves requests while it is not ready, then refuses connections and exits with 0', async () => {
    const changes = { SHUTDOWN_DELAY_SECONDS: String(DELAY_SECONDS), SHUTDOWN_GRACE_SECONDS: '20' };
    const service = await ServiceProcess.start(cluster.env(changes));
    const get = (path: string, agent: Agent | false = false) => getFrom(service.port, path, agent);
    const keptAlive = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await get('/api/v1/webhooks', keptAlive)).toMatchObject({ status: 401, connection: 'keep-alive' });

    const signaledAt = performance.now();
    const exited = service.kill('SIGTERM');
    await eventually(async () => expect((await get('/health/ready')).status).toBe(503), { everyMs: 20 });

    // A balancer that has not noticed yet still sends requests, on connections that exist and on new ones.
    expect(await get('/api/v1/webhooks', keptAlive)).toEqual({ status: 401, connection: 'close' });
    const served: number[] = [];
    while (performance.now() - signaledAt < (DELAY_SECONDS - 1) * 1_000) {
      const [reply, readiness, liveness] = [
        await get('/api/v1/webhooks'),
        await get('/health/ready'),
        await get('/health/live'),
      ];
      served.push(reply.status);
      expect([reply.status, readiness.status, liveness.status]).toEqual([401, 503, 200]);
      await sleep(50); // below the limit of requests of an address
    }
    expect(served.length).toBeGreaterThan(3);

    expect(await exited).toBe(0);
    expect(performance.now() - signaledAt).toBeGreaterThanOrEqual(DELAY_SECONDS * 1_000);
    await expect(get('/health/live')).rejects.toThrow('ECONNREFUSED');
    keptAlive.destroy();
  });
});

function getFrom(port: number, path: string, agent: Agent | false): Promise<Reply> {
  return new Promise((resolve, reject) => {
    httpGet({ port, path, host: '127.0.0.1', agent }, (reply) => {
      reply.resume();
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, connection: reply.headers.connection }));
    }).on('error', reject);
  });
}
