import { randomUUID } from 'node:crypto';
import { rmSync, symlinkSync } from 'node:fs';
import http from 'node:http';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import {
  ApiClient,
  connectToFleet,
  createOrganization,
  eventually,
  partnerWithMfa,
  type ApiCredentials,
} from '@rmm/testing';
import { createPartnerKey } from '../credentials/machines.js';
import { createWebhook } from '../steps.js';
import { CountingReceivers } from './counting-receivers.js';
import { EventPublisher } from './event-publisher.js';
import { findReplica, untilReady } from './killing.js';

/** Ten restarts, each a minute on a busy machine. */
jest.setTimeout(1_200_000);

const WEBHOOKS = 3;
/** Pause between two requests to one service, in milliseconds. */
const PAUSE_MS = 400;
/** Pause between two events, in milliseconds. */
const EVENT_PAUSE_MS = 400;

/** A request that is repeated; creates a new body each time. */
interface Load {
  service: string;
  method: 'GET' | 'POST';
  path: string;
  credentials: ApiCredentials;
  body?: () => object;
  status: number;
}

/** Returns whether a replica gets requests, by a connection of its own as the probes of a cluster do. */
const isReady = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const request = http.get({ host: '127.0.0.1', port, path: '/health/ready', agent: false }, (response) => {
      response.resume();
      done(response.statusCode === 200);
    });
    request.on('error', () => done(false));
  });

/** Returns whether a request was not sent, since the port is closed. */
const isRefused = (error: unknown): boolean => /ECONNREFUSED/.test(inspect(error));

/** Folder of links to the services of the previous build, with `PREVIOUS_CHECKOUT`. */
const previousApps = process.env['FLEET_APPS_DIR'];

function replaceLink(link: string, target: string): void {
  rmSync(link);
  symlinkSync(target, link);
}

describe('a rolling restart of all services, one replica after the other', () => {
  const fleet = connectToFleet();
  const portsOf = (name: string) =>
    fleet.services.find((service) => service.name === name)?.instances.map(({ port }) => port) ?? [];
  const receivers = new CountingReceivers();
  let isOver = false;
  let requests = 0;
  const failures: unknown[] = [];

  afterAll(async () => {
    isOver = true;
    await receivers.stop();
    await untilReady();
  });

  /** Sends a request to a ready replica, and to another one when it refuses the connection, as a balancer does. */
  async function send({ service, method, path, credentials, body, status }: Load): Promise<void> {
    const ports = portsOf(service);
    const first = requests++ % ports.length;
    for (const port of [...ports.slice(first), ...ports.slice(0, first)]) {
      if (!(await isReady(port))) continue;
      const client = new ApiClient(`http://127.0.0.1:${port}`, credentials);
      const response = await client.send(method, path, body?.()).catch((error: unknown) => {
        if (isRefused(error)) return null;
        throw error;
      });
      if (!response) continue;
      if (response.status !== status) failures.push({ service, path, status: response.status, body: response.body });
      return;
    }
    failures.push({ service, error: 'no replica is ready' });
  }

  async function sendUntilOver(load: Load): Promise<void> {
    while (!isOver) {
      await send(load).catch((error: unknown) => failures.push({ service: load.service, error: inspect(error) }));
      await sleep(PAUSE_MS);
    }
  }

  /** Publishes events until the restart is over. @returns how many */
  async function publishUntilOver(orgId: string): Promise<number> {
    const publisher = new EventPublisher(fleet, EVENT_PAUSE_MS);
    let events = 0;
    for (; !isOver; events += 1) {
      const data = { alertId: randomUUID(), severity: 'warning', title: 'Disk almost full' };
      await publisher.publishAll([{ id: randomUUID(), type: 'alert.triggered', orgId, data }]);
    }
    return events;
  }

  /** Stops a replica as a deployment does, with the next build when the fleet runs the previous one, and waits until its successor is ready. */
  async function restart(name: string, index: number): Promise<void> {
    const before = await findReplica(name, index);
    if (previousApps) replaceLink(join(previousApps, name), resolve('apps', name));
    process.kill(before.pid, 'SIGTERM');
    const untilReadiness = (wanted: boolean) =>
      eventually(async () => expect(await isReady(before.port)).toBe(wanted), { timeoutMs: 180_000, everyMs: 250 });
    await untilReadiness(false);
    await untilReadiness(true);
    expect((await findReplica(name, index)).pid).not.toBe(before.pid);
  }

  it('fails no request of a client, and delivers each event to each webhook once', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const urls = await receivers.start(WEBHOOKS);
    for (const url of urls) await createWebhook(client, orgId, { url, events: ['alert.triggered'] });
    const { key } = await createPartnerKey(client, {}, { rateLimit: 10_000 });
    const { credentials } = client;
    const read = (service: string, path: string, by = credentials): Load => ({
      ...{ service, method: 'GET', path, credentials: by, status: 200 },
    });
    const loads: Load[] = [
      read('identity', '/auth/me'),
      read('identity', '/users'),
      read('credentials', `/api-keys?orgId=${orgId}`),
      read('partner-gateway', '/partner-api/organizations', { apiKey: key }),
      read('provisioning', `/orgs/organizations/${orgId}`),
      {
        ...{ service: 'provisioning', method: 'POST', path: '/orgs/sites', credentials, status: 201 },
        body: () => ({ orgId, name: `Site ${randomUUID()}` }),
      },
      read('webhook-dispatcher', `/webhooks?orgId=${orgId}`),
    ];
    await eventually(async () => {
      failures.length = 0;
      for (const load of loads) await send(load);
      expect(failures).toEqual([]);
    });
    const running = loads.map(sendUntilOver);
    const publishing = publishUntilOver(orgId);
    try {
      for (const { name, instances } of fleet.services) {
        for (const index of instances.keys()) await restart(name, index);
      }
    } finally {
      isOver = true;
      await Promise.all(running);
    }
    const deliveries = (await publishing) * WEBHOOKS;
    await eventually(() => expect(receivers.accepted.size).toBe(deliveries), { timeoutMs: 180_000 });
    process.stdout.write(`    ${requests} requests, ${deliveries} deliveries\n`);
    expect(failures).toEqual([]);
    expect(receivers.doubled).toEqual([]);
  });
});
