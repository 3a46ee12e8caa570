import type { Msg } from 'nats';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  CREDENTIALS_ORGANIZATION_EXPORT,
  IDENTITY_ORGANIZATION_EXPORT,
  WEBHOOK_DISPATCHER_ORGANIZATION_EXPORT,
  type OrganizationExportPage,
} from '@rmm/contracts';
import { Databases } from '@rmm/persistence';
import { currentContext } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { insertDevice } from '../../test/device-rows.js';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';
import { OrganizationExportRepository, PROVISIONING_EXPORTS } from './organization-export.repository.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;
interface Asked {
  orgId: string;
  partnerId: string;
  resource: string;
  after: string | null;
  caller: { userId: string };
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the bytes of heap and buffers that are reachable. */
function heapInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Waits until a number stays the same for a second. A slow machine can only make it end early, with less. */
async function untilQuiet(value: () => number): Promise<void> {
  for (let before = -1; before !== value();) {
    before = value();
    await sleep(1_000);
  }
}

describe('GET /orgs/organizations/:id/export', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let client: Client;
  let orgId: string;
  let asked: Asked[];
  let reply: (request: Asked) => OrganizationExportPage | undefined;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    client = await testApp.clientFor({ partnerId });
    const contracts = [
      CREDENTIALS_ORGANIZATION_EXPORT,
      WEBHOOK_DISPATCHER_ORGANIZATION_EXPORT,
      IDENTITY_ORGANIZATION_EXPORT,
    ];
    for (const { subject } of contracts) {
      testApp.identity.link.connection.subscribe(subject, {
        callback: (_: unknown, message: Msg) => {
          const request = message.json<Asked>();
          asked.push(request);
          const value = reply(request);
          if (value) message.respond(JSON.stringify({ value }));
        },
      });
    }
  });
  afterAll(() => testApp?.stop());
  beforeEach(async () => {
    asked = [];
    reply = () => ({ records: [], next: null });
    orgId = (await client.post('/orgs/organizations', { name: `Customer ${randomUUID()}` })).body.id;
  });

  const lines = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { resource: string; data: Record<string, unknown> });
  const read = async (id = orgId, by = client) => {
    const response = await by
      .get(`/orgs/organizations/${id}/export`)
      .buffer(true)
      .parse((stream, done) => {
        let text = '';
        stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
        stream.on('end', () => done(null, text));
        stream.on('error', (error) => done(error, text));
      });
    return { status: response.status, text: response.body as unknown as string, headers: response.headers };
  };

  it('streams the pages of every resource in their order, and ends with the counts', async () => {
    for (let n = 0; n < 450; n += 1)
      await insertDevice(testApp.admin, { partner_id: partnerId, org_id: orgId, hostname: `pc-${n}` });
    reply = ({ resource, after }) =>
      resource === 'api_key' && after !== 'k2'
        ? { records: [{ id: after === null ? 'k1' : 'k2' }], next: after === null ? 'k1' : null }
        : { records: [], next: null };
    const { status, text, headers } = await read();
    expect([status, headers['content-type']]).toEqual([200, 'application/x-ndjson']);
    expect(headers['content-disposition']).toMatch(/^attachment; filename="customer-.*\.ndjson"$/);
    const all = lines(text);
    expect(all[0]).toMatchObject({ resource: 'export', data: { version: 1, orgId, partnerId } });
    const counts = { organization: 1, device: 450, api_key: 2, member: 0, audit_entry: 0 };
    expect(all.at(-1)).toMatchObject({ resource: 'export', data: { complete: true, counts } });
    const devices = all.filter(({ resource }) => resource === 'device');
    expect(new Set(devices.map(({ data }) => data['hostname'])).size).toBe(450);
    expect(asked.filter(({ resource }) => resource === 'api_key').map(({ after }) => after)).toEqual([null, 'k1']);
    expect(new Set(asked.map((request) => `${request.orgId} ${request.partnerId}`))).toEqual(
      new Set([`${orgId} ${partnerId}`]),
    );
    expect(text).not.toMatch(/token|hash/i);
  });

  it('gives only the first page the time limit of the request', async () => {
    const list = jest.spyOn(OrganizationExportRepository.prototype, 'list');
    const limited: boolean[] = [];
    list.mockImplementation(() => {
      limited.push(currentContext()?.deadline !== undefined);
      return Promise.resolve([]);
    });
    try {
      expect(lines((await read()).text).at(-1)?.data).toMatchObject({ complete: true });
    } finally {
      list.mockRestore();
    }
    expect(limited).toEqual([true, ...Array.from({ length: PROVISIONING_EXPORTS.length - 1 }, () => false)]);
  });

  describe('of 20,000 devices and 50 MB', () => {
    const DEVICES = 20_000;
    /** Some pages of 200 devices. What the kernel buffers of a connection besides depends on the machine, up to 37 MB. */
    const MAX_BUFFERED = 4 * 1024 * 1024;
    const MAX_HEAP_GROWTH = 64 * 1024 * 1024;
    let pages: number;
    let buffered: () => number;
    let largeOrgId: string;

    beforeAll(async () => {
      const { admin } = testApp;
      const { body } = await client.post('/orgs/organizations', { name: 'Large customer' });
      largeOrgId = body.id;
      await admin.query('SET session_replication_role = replica');
      await admin.query(
        `INSERT INTO device (partner_id, org_id, hostname, os_type, custom_fields, created_at, updated_at)
         SELECT $1, $2, 'pc-' || n, 'linux', jsonb_build_object('note', repeat('x', 2500)), now(), now()
         FROM generate_series(1, $3::int) n`,
        [partnerId, largeOrgId, DEVICES],
      );
      await admin.query(
        `INSERT INTO device_state (device_id, partner_id, org_id, status)
         SELECT id, partner_id, org_id, 'offline' FROM device WHERE org_id = $1`,
        [largeOrgId],
      );
      await admin.query('SET session_replication_role = DEFAULT');
      await admin.query('ANALYZE device, device_state');
    }, 120_000);

    let restore: () => void;
    beforeEach(() => {
      pages = 0;
      const records = testApp.app.get(OrganizationExportRepository);
      const list = records.list.bind(records);
      // A spy of Jest would keep each page.
      records.list = async (...args) => {
        const page = await list(...args);
        pages += 1;
        return page;
      };
      restore = () => void (records.list = list);
    });
    afterEach(() => restore());

    /** Opens the export; nothing is read before the first listener. */
    async function open(): Promise<IncomingMessage> {
      const server = testApp.app.getHttpServer() as Server;
      server.once('request', (_, response) => (buffered = () => response.writableLength));
      const request = get(`${testApp.url}/orgs/organizations/${largeOrgId}/export`, {
        headers: { authorization: `Bearer ${await testApp.identity.signIn({ partnerId })}` },
      });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      expect(response.statusCode).toBe(200);
      return response;
    }

    const connectionsInUse = () => {
      const { servicePool: pool } = testApp.app.get(Databases);
      return pool.totalCount - pool.idleCount;
    };

    it('has a bounded part of it in memory, whatever its length', async () => {
      const response = await open();
      const before = heapInUse();
      let [received, devices, most, grown, measured, tail] = [0, 0, 0, 0, 0, ''];
      for await (const chunk of response as AsyncIterable<Buffer>) {
        received += chunk.length;
        devices += chunk.toString('latin1').split('{"resource":"device","data"').length - 1;
        tail = (tail + chunk.toString('latin1')).slice(-1_000);
        most = Math.max(most, buffered());
        if (pages < measured + 20) continue;
        measured = pages;
        grown = Math.max(grown, heapInUse() - before);
      }
      expect(tail).toContain('"complete":true');
      expect(received).toBeGreaterThan(10 * MAX_BUFFERED);
      expect(Math.abs(devices - DEVICES)).toBeLessThan(DEVICES / 100); // a chunk may end in the text that is counted
      expect(pages).toBeGreaterThanOrEqual(DEVICES / 200);
      expect(most).toBeLessThan(MAX_BUFFERED);
      expect(grown).toBeLessThan(MAX_HEAP_GROWTH);
    }, 120_000);

    it('waits for a client that reads slowly, without a connection to the database', async () => {
      const response = await open();
      await once(response, 'readable'); // reads into the buffer of the stream, and no further
      await untilQuiet(() => pages);
      expect(pages).toBeLessThan(DEVICES / 200);
      expect(buffered()).toBeLessThan(MAX_BUFFERED);
      await eventually(() => expect(connectionsInUse()).toBe(0));
      response.destroy();
    });

    it('ends when the client goes away', async () => {
      const response = await open();
      await once(response, 'readable');
      response.destroy();
      await untilQuiet(() => pages);
      expect(pages).toBeLessThan(DEVICES / 200);
      await eventually(() => expect(connectionsInUse()).toBe(0));
      expect((await client.get('/orgs/organizations?limit=1')).status).toBe(200);
    });
  });

  it('has a deleted organization, until its erasure is requested', async () => {
    const { slug } = (await client.get(`/orgs/organizations/${orgId}`)).body;
    await client.delete(`/orgs/organizations/${orgId}`);
    expect(lines((await read()).text)[1]?.data).toMatchObject({ id: orgId, deletedAt: expect.any(String) as unknown });
    await client.post(`/orgs/organizations/${orgId}/erasure`, { slug });
    expect((await read()).status).toBe(404);
  });

  it('cuts the connection when a later page fails, so that the last line is missing', async () => {
    reply = ({ resource }) => (resource === 'member' ? undefined : { records: [], next: null });
    await expect(read()).rejects.toThrow();
  });

  it('refuses other callers', async () => {
    const theirs = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    const permissions = ['organizations:delete'] as never;
    const attempts = [
      [theirs, 404, 'not_found'],
      [await testApp.clientFor({ scope: 'organization', partnerId, orgId }), 403, 'scope_not_allowed'],
      [await testApp.clientFor({ partnerId, mfa: false }), 403, 'mfa_required'],
      [await testApp.clientFor({ partnerId, permissions }), 403, 'permission_denied'],
    ] as const;
    for (const [by, status, code] of attempts) {
      const response = await by.get(`/orgs/organizations/${orgId}/export`);
      expect([response.status, response.body.code]).toEqual([status, code]);
    }
    expect(asked).toEqual([]);
  });
});
