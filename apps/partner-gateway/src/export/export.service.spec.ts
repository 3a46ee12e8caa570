import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { createHash, randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import pg from 'pg';
import request from 'supertest';
import {
  type ExportRequest,
  CREDENTIALS_KEYS_RESOLVE,
  PROVISIONING_EXPORT_SITES,
  PROVISIONING_ORGANIZATIONS_GET,
} from '@rmm/contracts';
import { ensureStreams, NatsLink } from '@rmm/messaging';
import { rowSecurityProblems } from '@rmm/persistence/testing';
import { configureApp, HealthRegistry, Logger } from '@rmm/service-kit';
import { eventually, type Stores, startStores, type TestDatabase } from '@rmm/testing-services';
import { AppModule } from '../app.module.js';
import { readPartnerGatewayConfig } from '../config.js';

const key = `svc_sp_${'k'.repeat(43)}`;
const snapshot = new Date().toISOString();
const [partnerId, principalId, keyId, orgId, foreignOrgId] = Array.from({ length: 5 }, () => randomUUID());

/** The service on real stores; fakes of the other services reply on the same NATS server. */
describe('ExportService', () => {
  let stores: Stores;
  let database: TestDatabase<'partner_gateway'>;
  let app: NestExpressApplication;
  let server: Server;
  let heartbeat: NodeJS.Timeout;
  const auditEntries: Record<string, unknown>[] = [];
  const exportRequests: ExportRequest[] = [];
  let replyToExport: (request: ExportRequest) => object;

  const siteOf = (n: number) => ({
    id: `00000000-0000-4000-8000-00000000000${n}`,
    siteId: `00000000-0000-4000-8000-00000000000${n}`,
    orgId,
    sourceUpdatedAt: '2026-03-01T12:00:00.000Z',
    name: `Site ${n}`,
    timezone: 'UTC',
    address: null,
    contact: null,
  });

  const threeSites = ({ snapshotAt, after, limit }: ExportRequest) => {
    const from = after === null ? 1 : Number(after.id.at(-1)) + 1;
    const records = [1, 2, 3]
      .filter((n) => n >= from)
      .slice(0, limit)
      .map(siteOf);
    return {
      value: {
        snapshotAt: snapshotAt ?? snapshot,
        records,
        hasMore: (records.at(-1)?.name ?? 'Site 3') !== 'Site 3',
      },
    };
  };

  beforeAll(async () => {
    replyToExport = threeSites;
    stores = await startStores();
    database = await stores.createDatabase(['partner_gateway']);
    const nats = await stores.nats();
    const urls = database.urls.partner_gateway;
    const config = readPartnerGatewayConfig({
      NODE_ENV: 'test',
      LOG_LEVEL: 'error',
      DATABASE_URL: urls.service,
      MIGRATIONS_DATABASE_URL: urls.owner,
      WORKER_DATABASE_URL: urls.worker,
      REDIS_URL: stores.redisUrl,
      NATS_URL: nats.url,
      PUBLIC_API_URL: 'https://api.fleet.example',
      PARTNER_API_CURSOR_SIGNING_KEY: 'x'.repeat(32),
    });
    const testing = await Test.createTestingModule({ imports: [AppModule.forRoot(config)] }).compile();
    app = testing.createNestApplication<NestExpressApplication>({ bodyParser: false });
    configureApp(app, {
      config,
      openApi: { title: 'Partner gateway', description: 'For specs' },
      unprefixed: ['docs', 'docs/:asset', 'openapi.json'],
    });
    await ensureStreams(app.get(NatsLink).connection);
    fakeOtherServices(app.get(NatsLink));
    await app.init();
    app.get(HealthRegistry).state = 'ready';
    server = app.getHttpServer();
    await eventually(async () => expect((await get('/api/v1/partner-api/sites')).status).toBe(200));
  });

  afterAll(async () => {
    clearInterval(heartbeat);
    await app.close();
    await stores.stop();
  });

  function fakeOtherServices({ connection }: NatsLink): void {
    const keyHash = createHash('sha256').update(key).digest('hex');
    const record = {
      kind: 'partner_key',
      keyId,
      keyName: 'First',
      keyPrefix: key.slice(0, 18),
      principalId,
      principalName: 'Documentation',
      partnerId,
      scopes: ['sites:read'],
      rateLimit: 1_000,
      expiresAt: null,
      sourceCidrs: [],
      generation: 1,
      status: 'active',
    };
    connection.subscribe(CREDENTIALS_KEYS_RESOLVE.subject, {
      callback: (_, message) =>
        void message.respond(
          JSON.stringify({ value: message.json<{ keyHash: string }>().keyHash === keyHash ? record : null }),
        ),
    });
    connection.subscribe(PROVISIONING_EXPORT_SITES.subject, {
      callback: (_, message) => {
        const exportRequest = message.json<ExportRequest>();
        exportRequests.push(exportRequest);
        message.respond(JSON.stringify(replyToExport(exportRequest)));
      },
    });
    connection.subscribe(PROVISIONING_ORGANIZATIONS_GET.subject, {
      callback: (_, message) => {
        const { orgIds } = message.json<{ orgIds: string[] }>();
        const known = { name: 'O', slug: 'o', status: 'active', deleted: false, version: 1 };
        const all = [
          { ...known, orgId, partnerId },
          { ...known, orgId: foreignOrgId, partnerId: randomUUID() },
        ];
        message.respond(JSON.stringify({ value: { organizations: all.filter((one) => orgIds.includes(one.orgId)) } }));
      },
    });
    connection.subscribe('rmm.audit.>', { callback: (_, message) => void auditEntries.push(message.json()) });
    let sequence = 0;
    heartbeat = setInterval(() => {
      sequence++;
      for (const type of ['access.heartbeat', 'credential.heartbeat']) {
        const data = { publisher: 'spec', sequence, intervalMs: 100 };
        const envelope = {
          id: randomUUID(),
          type,
          schemaVersion: 1,
          timestamp: new Date().toISOString(),
          partnerId: null,
          orgId: null,
          aggregateId: 'spec',
          aggregateVersion: 0,
          data,
        };
        connection.publish(`rmm.broadcast.${type}`, JSON.stringify(envelope));
      }
    }, 100);
  }

  beforeEach(() => {
    replyToExport = threeSites;
  });

  /** Waits for the audit entry of a request. */
  const findAuditEntry = ({ headers }: { headers: Record<string, string> }) =>
    eventually(() => {
      const row = auditEntries.find(({ correlationId }) => correlationId === headers['x-request-id']);
      if (row === undefined) throw new Error('no audit entry yet');
      return row;
    });
  const get = (path: string) => request(server).get(path).set('X-API-Key', key);

  it('returns pages of one snapshot and records each in the audit log', async () => {
    const first = await get('/api/v1/partner-api/sites?limit=2');
    expect(first.body).toMatchObject({ schemaVersion: '1', snapshotAt: snapshot, hasMore: true });
    expect(first.body.data.map(({ name }: { name: string }) => name)).toEqual(['Site 1', 'Site 2']);
    expect(first.body).not.toHaveProperty('blocked');
    const second = await get(`/api/v1/partner-api/sites?limit=3&cursor=${first.body.nextCursor}`);
    expect(second.body).toMatchObject({ hasMore: false, nextCursor: null, snapshotAt: first.body.snapshotAt });
    expect(second.body.data).toEqual([
      expect.objectContaining({ name: 'Site 3', revision: expect.stringMatching(/^[0-9a-f]{64}$/) }),
    ]);
    expect(exportRequests.at(-1)).toEqual({
      caller: {
        kind: 'partner_key',
        keyId,
        principalId,
        tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [] },
      },
      orgId: null,
      updatedSince: null,
      snapshotAt: first.body.snapshotAt,
      after: { id: siteOf(2).id, orgId, updatedAt: siteOf(2).sourceUpdatedAt },
      limit: 3,
    });
    await findAuditEntry(second);
    expect(await findAuditEntry(first)).toMatchObject({
      type: 'partner_api.export',
      partnerId,
      actor: { type: 'api_key', id: principalId },
      data: {
        result: 'success',
        details: { resource: 'sites', count: 2, filters: { orgId: null, updatedSince: null } },
      },
    });
  });

  it('lists the records of a given organization only', async () => {
    const response = await get(`/api/v1/partner-api/sites?orgId=${orgId.toUpperCase()}`);
    expect(response.status).toBe(200);
    expect(exportRequests.at(-1)).toMatchObject({ orgId });
    expect(await findAuditEntry(response)).toMatchObject({ orgId, data: { details: { filters: { orgId } } } });
  });

  it('refuses unknown and foreign organizations, without repeating them in the audit', async () => {
    const responses = [];
    for (const id of [randomUUID(), foreignOrgId]) {
      const response = await get(`/api/v1/partner-api/sites?orgId=${id}`);
      expect([response.status, response.body.code]).toEqual([403, 'organization_access_denied']);
      responses.push(response);
    }
    const row = await findAuditEntry(responses[0]);
    expect(row).toMatchObject({
      type: 'partner_api.export',
      data: { result: 'denied', details: { resource: 'sites', reason: 'organization_access_denied' } },
    });
    expect(JSON.stringify(auditEntries)).not.toContain(foreignOrgId);
  });

  it('aggregates repeated denials', async () => {
    for (let n = 0; n < 10; n++) await get(`/api/v1/partner-api/sites?orgId=${randomUUID()}`);
    const allowed = await get('/api/v1/partner-api/sites');
    await findAuditEntry(allowed);
    const denied = auditEntries.filter(({ data }) => (data as { result: string }).result === 'denied');
    expect(denied.length).toBeLessThanOrEqual(1);
  });

  it('compares updatedSince with the clock of the snapshot, not with its own', async () => {
    const at = (ms: number) => new Date(Date.parse(snapshot) + ms).toISOString();
    const exported = await get(`/api/v1/partner-api/sites?updatedSince=${snapshot}`);
    expect(exported.status).toBe(200);
    const future = await get(`/api/v1/partner-api/sites?updatedSince=${at(1)}`);
    expect([future.status, future.body.code]).toEqual([400, 'invalid_partner_export_pagination']);
    const ahead = new Date(Date.now() + 3_600_000).toISOString();
    replyToExport = () => ({ value: { snapshotAt: ahead, records: [], hasMore: false } });
    expect((await get(`/api/v1/partner-api/sites?updatedSince=${ahead}`)).status).toBe(200);
  });

  it('returns partner_export_failed without details for an unexpected error', async () => {
    replyToExport = () => ({
      value: { snapshotAt: 'x', records: [{ ...siteOf(1), name: undefined }], hasMore: false },
    });
    const response = await get('/api/v1/partner-api/sites');
    expect(response.status).toBe(500);
    expect(response.body).toMatchObject({ error: 'Partner export failed', code: 'partner_export_failed' });
  });

  it('withholds a record with a secret, counts it in the page and names it in the audit by number only', async () => {
    const secret = `ghp_${'aB3'.repeat(12)}`;
    const reply = (exportRequest: ExportRequest) => {
      const page = threeSites(exportRequest);
      const records = page.value.records.map((site) => (site.name === 'Site 2' ? { ...site, name: secret } : site));
      return { value: { ...page.value, records } };
    };
    replyToExport = reply;
    const first = await get('/api/v1/partner-api/sites?limit=2');
    expect(first.body.data.map(({ name }: { name: string }) => name)).toEqual(['Site 1']);
    expect(first.body.blocked).toEqual([
      { resource: 'sites', id: siteOf(2).id, orgId, reason: 'secret_detected', fieldPaths: ['name'] },
    ]);
    expect(JSON.stringify(first.body)).not.toContain(secret);
    const second = await get(`/api/v1/partner-api/sites?limit=2&cursor=${first.body.nextCursor}`);
    expect(exportRequests.at(-1)?.after).toMatchObject({ id: siteOf(2).id });
    expect(second.body).toMatchObject({ hasMore: false, data: [{ name: 'Site 3' }] });
    expect(second.body).not.toHaveProperty('blocked');
    expect(await findAuditEntry(first)).toMatchObject({ data: { details: { count: 1, withheld: 1 } } });
  });

  it('goes on after a page of withheld records only', async () => {
    replyToExport = ({ after }) => {
      const { value } = threeSites({ after, snapshotAt: null, limit: 2 } as ExportRequest);
      return {
        value: { ...value, records: value.records.map((site) => ({ ...site, contact: { name: 'password: x9!y8z' } })) },
      };
    };
    const { body } = await get('/api/v1/partner-api/sites?limit=2');
    expect(body).toMatchObject({ data: [], hasMore: true, nextCursor: expect.any(String) });
    expect(body.blocked).toHaveLength(2);
    const last = await get(`/api/v1/partner-api/sites?limit=2&cursor=${body.nextCursor}`);
    expect(last.body).toMatchObject({ data: [], hasMore: false, blocked: [{ id: siteOf(3).id }] });
  });

  it('returns partner_export_failed for a record that differs from its published schema, and logs the path alone', async () => {
    const logged = jest.spyOn(app.get(Logger), 'error');
    replyToExport = () => ({
      value: { snapshotAt: snapshot, records: [{ ...siteOf(1), timezone: { zone: 'kept-private' } }], hasMore: false },
    });
    const response = await get('/api/v1/partner-api/sites');
    expect([response.status, response.body.code]).toEqual([500, 'partner_export_failed']);
    const [[details]] = logged.mock.calls as unknown as [[{ err: Error }]];
    expect(details.err.message).toBe('A record of sites violates its published schema at timezone: type');
    expect(JSON.stringify(logged.mock.calls) + response.text).not.toContain('kept-private');
    logged.mockRestore();
  });

  describe('the ETag of a page', () => {
    const whole = '/api/v1/partner-api/sites';

    it('gives 304 without a body while nothing changed, whatever the time of the snapshot', async () => {
      const first = await get(whole);
      expect(first.headers).toMatchObject({
        etag: expect.stringMatching(/^W\/"/),
        'cache-control': 'private, no-cache',
      });
      replyToExport = (exportRequest) => {
        const { value } = threeSites(exportRequest);
        return { value: { ...value, snapshotAt: new Date(Date.parse(snapshot) + 60_000).toISOString() } };
      };
      for (const given of [first.headers.etag, `"other", ${first.headers.etag}`, '*']) {
        const again = await get(whole).set('If-None-Match', given);
        expect([again.status, again.text, again.headers.etag]).toEqual([304, '', first.headers.etag]);
        expect(again.headers['content-length'] ?? again.headers['content-type']).toBeUndefined();
        expect(again.headers['x-ratelimit-limit']).toBe('1000');
      }
    });

    it('gives 200 for another tag, and after a change', async () => {
      const first = await get(whole);
      expect((await get(whole).set('If-None-Match', '"other"')).status).toBe(200);
      replyToExport = () => ({
        value: { snapshotAt: snapshot, records: [{ ...siteOf(1), name: 'New' }], hasMore: false },
      });
      const changed = await get(whole).set('If-None-Match', first.headers.etag);
      expect([changed.status, changed.body.data[0].name]).toEqual([200, 'New']);
      expect(changed.headers.etag).not.toBe(first.headers.etag);
    });

    it('gives 304 for an unchanged incremental export and for a repeated later page', async () => {
      const incremental = `${whole}?updatedSince=${snapshot}`;
      replyToExport = () => ({ value: { snapshotAt: snapshot, records: [], hasMore: false } });
      const empty = await get(incremental);
      expect((await get(incremental).set('If-None-Match', empty.headers.etag)).status).toBe(304);
      replyToExport = threeSites;
      const { nextCursor } = (await get(`${whole}?limit=2`)).body;
      const later = await get(`${whole}?limit=2&cursor=${nextCursor}`);
      const again = await get(`${whole}?limit=2&cursor=${nextCursor}`).set('If-None-Match', later.headers.etag);
      expect(again.status).toBe(304);
    });

    it('does not apply to errors', async () => {
      const refused = await get(`${whole}?color=blue`).set('If-None-Match', '*');
      expect([refused.status, refused.headers.etag]).toEqual([400, undefined]);
    });
  });

  it('returns 503 when the owner of the data cannot be reached', async () => {
    replyToExport = () => ({
      error: { kind: 'unavailable', code: 'service_unavailable', error: 'Service temporarily unavailable' },
    });
    const response = await get('/api/v1/partner-api/sites');
    expect([response.status, response.headers['retry-after']]).toEqual([503, '1']);
  });

  it('checks the credential and the scope before it reads the query', async () => {
    const anonymous = await request(server).get('/api/v1/partner-api/sites?color=blue');
    expect([anonymous.status, anonymous.body.code]).toEqual([401, 'partner_api_auth_required']);
    const scope = await get('/api/v1/partner-api/organizations?color=blue');
    expect([scope.status, scope.body.code, scope.body.required]).toEqual([
      403,
      'partner_api_scope_required',
      ['organizations:read'],
    ]);
    const query = await get('/api/v1/partner-api/sites?color=blue');
    expect([query.status, query.body.code]).toEqual([400, 'invalid_partner_export_query']);
    expect(query.headers['x-ratelimit-limit']).toBe('1000');
  });

  it('serves the docs outside /api/v1 with a strict content security policy', async () => {
    const page = await request(server).get('/docs');
    expect(page.headers['content-type']).toMatch('text/html');
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'.*script-src 'self'/);
    const script = await request(server).get('/docs/swagger-ui-bundle.js');
    expect([script.status, script.headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8']);
    expect((await request(server).get('/docs/..%2Fpackage.json')).status).toBe(404);
    const { body } = await request(server).get('/openapi.json');
    expect(body.paths['/api/v1/partner-api/sites'].get).toMatchObject({
      security: [{ apiKey: [] }],
      'x-required-access': { kind: 'partner-key', scopes: ['sites:read'] },
    });
    expect((await request(server).get('/api/v1/docs')).status).toBe(404);
  });

  it('has no table that a tenant can read', async () => {
    const admin = new pg.Client({ connectionString: database.adminUrl });
    await admin.connect();
    const query = async (sql: string, params?: readonly unknown[]) =>
      (await admin.query(sql, params as unknown[])).rows as never[];
    const problems = await rowSecurityProblems({ query }, 'partner_gateway').finally(() => admin.end());
    expect(problems).toEqual([]);
  });
});
