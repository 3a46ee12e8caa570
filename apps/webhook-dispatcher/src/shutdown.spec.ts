import { Agent, get as httpGet } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@rmm/testing-services';
import { createWebhook, DispatcherTestCluster } from '../test/dispatcher-test-cluster.js';
import { FakeReceiver } from '../test/fake-receiver.js';
import { buildService, ServiceProcess } from '../test/service-process.js';

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
    expect(served.length).toBeGreaterThan(0);

    expect(await exited).toBe(0);
    expect(performance.now() - signaledAt).toBeGreaterThanOrEqual(DELAY_SECONDS * 1_000);
    await expect(get('/health/live')).rejects.toThrow('ECONNREFUSED');
    keptAlive.destroy();
  });

  it('starts no attempt, ends those in flight within the grace time and doubles none, though a request is not finished', async () => {
    const receiver = await FakeReceiver.start();
    receiver.respond = (response) => void setTimeout(() => response.end(), 5_000);
    const organization = await cluster.organization();
    const app = await cluster.start();
    const webhook = await createWebhook(app, organization, receiver.url);
    await cluster.stop(app);
    const stopping = await ServiceProcess.start(cluster.env({ SHUTDOWN_GRACE_SECONDS: '14' }));
    const socket = await openUnfinishedRequest(stopping.port);
    await cluster.emit(organization);
    await eventually(() => expect(receiver.received).toHaveLength(1));
    const signaledAt = performance.now();
    const exited = stopping.kill('SIGTERM');
    await sleep(1_000);
    await cluster.emit(organization);
    expect(await exited).toBe(0);
    expect(performance.now() - signaledAt).toBeLessThan(14_000);
    expect(receiver.received).toHaveLength(1);
    expect(await cluster.deliveries(webhook.id)).toMatchObject([{ status: 'delivered', attempt: 1 }]);
    socket.destroy();

    const next = await cluster.start();
    await eventually(async () =>
      expect((await cluster.deliveries(webhook.id)).map(({ status }) => status)).toEqual(['delivered', 'delivered']),
    );
    expect(receiver.received).toHaveLength(2);
    await cluster.stop(next);
    await receiver.stop();
  });
});

/** Opens a request whose headers do not end, for which a server that closes waits. */
function openUnfinishedRequest(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('GET /api/v1/webhooks HTTP/1.1\r\nHost: localhost\r\n', () => resolve(socket));
    });
    socket.on('error', reject);
  });
}

function getFrom(port: number, path: string, agent: Agent | false): Promise<Reply> {
  return new Promise((resolve, reject) => {
    httpGet({ port, path, host: '127.0.0.1', agent }, (reply) => {
      reply.resume();
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, connection: reply.headers.connection }));
    }).on('error', reject);
  });
}
