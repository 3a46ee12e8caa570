import { once } from 'node:events';
import { get as httpGet, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AccessSnapshots, InvalidAccessToken, type UserCaller } from '@rmm/access';
import { TenantDatabase } from '@rmm/persistence';
import { eventually } from '@rmm/testing-services';
import { asText } from '../../test/api-examples/audit.js';
import { auditRow, minuteOf } from '../../test/audit-rows.js';
import {
  expectStatus,
  IdentityTestApp,
  type TestResponse,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { claimsOf, inviteAndAccept, registerPartner, roleId, signInAdmin, type TestUser } from '../../test/users.js';
import { AuditLogsService } from './audit-logs.service.js';
import { AuditSealer } from './audit-sealer.consumer.js';

/** Old enough to differ from the rows that the run itself writes. */
const SEEDED = `from=${minuteOf(0)}&to=${minuteOf(10_000)}`;

interface Row {
  action: string;
  resourceId: string;
  orgId: string | null;
  details: Record<string, unknown>;
}

describe('audit logs', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let acme: TestUser;
  let other: TestUser;
  let north: string;
  let south: string;
  let foreign: string;
  let viewer: TestUser;
  let selected: TestUser;
  let orgAdmin: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    acme = await registerPartner(identity, 'Acme MSP');
    other = await registerPartner(identity, 'Other MSP');
    [north, south, foreign] = [
      await withOrganization(acme.partnerId),
      await withOrganization(acme.partnerId),
      await withOrganization(other.partnerId),
    ];
    viewer = await inviteAndAccept(identity, acme.bearer, { roleId: await role('Partner Viewer') });
    selected = await inviteAndAccept(identity, acme.bearer, {
      roleId: await role('Partner Admin'),
      orgAccess: 'selected',
      orgIds: [north],
    });
    orgAdmin = await inviteAndAccept(identity, acme.bearer, {
      roleId: await role('Org Admin', `&orgId=${north}`),
      orgId: north,
    });
    await seal([
      auditRow(acme.partnerId, 1, { action: 'role.create', resourceType: 'role', resourceId: 'r1', actorId: 'ann' }),
      auditRow(acme.partnerId, 2, { orgId: north, action: 'api_key.create', actorId: 'ann', resourceId: 'k1' }),
      auditRow(acme.partnerId, 3, { orgId: south, action: 'api_key.revoke', actorId: 'bob', resourceId: 'k2' }),
      auditRow(acme.partnerId, 4, { action: 'api_keyring.turn', result: 'denied', resourceId: 'k3' }),
      auditRow(other.partnerId, 5, { orgId: foreign, action: 'api_key.create', resourceId: 'k9' }),
    ]);
  }, 120_000);
  afterAll(() => testApp.stop());

  const role = (name: string, query = '') => roleId(identity, acme.bearer, name, query);
  const seal = (rows: Parameters<AuditSealer['seal']>[0]) => identity.app.get(AuditSealer).seal(rows);
  const withOrganization = async (partnerId: string) => {
    const [row] = await testApp.query<{ id: string }>(
      `insert into organization_directory (org_id, partner_id, name, slug, status, version)
       values (gen_random_uuid(), $1, 'Customer', 'customer-' || gen_random_uuid(), 'active', 1) returning org_id as id`,
      [partnerId],
    );
    return row.id;
  };
  const list = ({ bearer }: { bearer: string }, query: string) => identity.get(`/audit-logs?${query}`, { bearer });
  const exported = ({ bearer }: { bearer: string }, query: string) =>
    identity.get(`/audit-logs/export?${query}`, { bearer, send: asText });
  const idsOf = ({ body }: TestResponse) => (body.data as Row[]).map(({ resourceId }) => resourceId);
  const textOf = ({ body }: TestResponse) => body as unknown as string;
  const linesOf = (response: TestResponse) =>
    textOf(response)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Row);

  describe('list', () => {
    it.each([
      ['actorId=ann', ['k1', 'r1']],
      ['action=api_key.create', ['k1']],
      ['action=api_key.*', ['k2', 'k1']],
      ['resourceType=role', ['r1']],
      ['resourceId=k2', ['k2']],
      ['result=denied', ['k3']],
      ['actorId=ann&action=api_key.*&resourceType=thing&result=success', ['k1']],
      ['actorId=invalid', []],
    ])('returns the entries of %s, newest first', async (filter, ids) => {
      const response = expectStatus(await list(acme, `${SEEDED}&${filter}`), 200);
      expect(idsOf(response)).toEqual(ids);
    });

    it('filters by organization and by a range of time without its end', async () => {
      expect(idsOf(await list(acme, `${SEEDED}&orgId=${north}`))).toEqual(['k1']);
      expect(idsOf(await list(acme, `from=${minuteOf(2)}&to=${minuteOf(4)}`))).toEqual(['k2', 'k1']);
    });

    it('returns only entries within the access of the caller', async () => {
      expect(idsOf(await list(acme, SEEDED))).toEqual(['k3', 'k2', 'k1', 'r1']);
      expect(idsOf(await list(selected, SEEDED))).toEqual(['k1']);
      expect(idsOf(await list(orgAdmin, SEEDED))).toEqual(['k1']);
      expect(idsOf(await list(other, SEEDED))).toEqual(['k9']);
      const root = { bearer: await signInAdmin(identity) };
      expect(idsOf(await list(root, SEEDED))).toEqual(['k9', 'k3', 'k2', 'k1', 'r1']);
    });

    it('returns 403 without the permission and for organizations of another tenant', async () => {
      expect(await list(viewer, '')).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
      for (const [who, orgId] of [
        [acme, foreign],
        [selected, south],
        [orgAdmin, south],
      ] as const) {
        const response = await list(who, `orgId=${orgId}`);
        expect(response).toMatchObject({ status: 403, body: { code: 'organization_access_denied' } });
      }
    });

    it.each(['from=yesterday', 'to=2026-11-01T00:00:00', 'orgId=x', 'result=maybe', 'limit=101', 'limit=x'])(
      'returns 400 for %s',
      async (query) => {
        expect(await list(acme, query)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      },
    );

    it('continues from a cursor for the same caller and filters only', async () => {
      const first = await list(acme, `${SEEDED}&limit=3`);
      expect(idsOf(first)).toEqual(['k3', 'k2', 'k1']);
      const cursor = first.body.pagination.nextCursor as string;
      const second = await list(acme, `${SEEDED}&limit=1&cursor=${cursor}`);
      expect(idsOf(second)).toEqual(['r1']);
      expect(second.body.pagination).toEqual({ nextCursor: null, limit: 1 });
      for (const [who, query] of [
        [acme, `limit=3&cursor=${cursor}`],
        [acme, `${SEEDED}&limit=3&actorId=ann&cursor=${cursor}`],
        [other, `${SEEDED}&limit=3&cursor=${cursor}`],
        [acme, `${SEEDED}&limit=3&cursor=${cursor.slice(0, -2)}AA`],
        [acme, `${SEEDED}&limit=3&cursor=x`],
        [acme, `${SEEDED}&limit=3&cursor=${'A'.repeat(10_000)}`],
        [acme, `${SEEDED}&limit=3&cursor=%00`],
      ] as const) {
        expect(await list(who, query)).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } });
      }
    });
  });

  describe('export', () => {
    it('sends a CSV attachment with a header, oldest first', async () => {
      const response = expectStatus(await exported(acme, SEEDED), 200);
      expect(response.headers).toMatchObject({
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': expect.stringMatching(/^attachment; filename="audit-log-\d{8}T\d{6}Z\.csv"$/),
        'cache-control': 'no-store',
      });
      const [header, ...lines] = textOf(response).trimEnd().split('\r\n');
      expect(header).toMatch(/^id,sequence,partnerId,orgId,timestamp,/);
      expect(lines.map((line) => line.split(',')[8])).toEqual([
        'role.create',
        'api_key.create',
        'api_key.revoke',
        'api_keyring.turn',
      ]);
    });

    it('sends one JSON object per line with the filters and access of the list', async () => {
      const response = expectStatus(await exported(acme, `${SEEDED}&format=ndjson&action=api_key.*`), 200);
      expect(response.headers['content-type']).toBe('application/x-ndjson');
      expect(linesOf(response).map(({ resourceId }) => resourceId)).toEqual(['k1', 'k2']);
      const restricted = await exported(selected, `${SEEDED}&format=ndjson`);
      expect(linesOf(restricted).map(({ resourceId }) => resourceId)).toEqual(['k1']);
      const own = await exported(orgAdmin, `${SEEDED}&format=ndjson`);
      expect(linesOf(own).map(({ resourceId }) => resourceId)).toEqual(['k1']);
      const none = await exported(acme, `${SEEDED}&format=ndjson&actorId=invalid`);
      expect(textOf(none)).toBe('');
    });

    it('escapes cells that a spreadsheet would interpret as formulas', async () => {
      const evil = auditRow(acme.partnerId, 20_000, { resourceName: '=1+1', userAgent: '@SUM(A1)', actorId: 'eve' });
      await seal([evil]);
      const text = textOf(await exported(acme, 'actorId=eve'));
      expect(text).toContain(",'=1+1,");
      expect(text).toContain(",'@SUM(A1),");
    });

    it('refuses a caller without permission, other organizations and unknown formats', async () => {
      expect(await exported(viewer, '')).toMatchObject({ status: 403 });
      expect(await exported(acme, `orgId=${foreign}`)).toMatchObject({ status: 403 });
      expect(await exported(acme, 'format=xlsx')).toMatchObject({ status: 400 });
      expect(await exported(acme, 'from=yesterday')).toMatchObject({ status: 400 });
    });

    it('records an audit entry with its filters', async () => {
      expectStatus(await exported(acme, 'format=ndjson&actorId=marked'), 200);
      await eventually(async () => {
        const { body } = await list(acme, 'action=audit.export');
        expect((body.data as Row[]).map(({ details }) => details)).toContainEqual({
          format: 'ndjson',
          filters: { actorId: 'marked' },
        });
      });
    });

    it('is limited to ten exports an hour per user', async () => {
      const { bearer } = await inviteAndAccept(identity, acme.bearer, { roleId: await role('Partner Admin') });
      const statuses: number[] = [];
      for (let i = 0; i < 11; i++) statuses.push((await exported({ bearer }, 'actorId=invalid')).status);
      expect(statuses).toEqual([...Array<number>(10).fill(200), 429]);
    });
  });

  describe('long export', () => {
    const ROWS = 2_600;
    let bearer: string;
    let port: number;

    beforeAll(async () => {
      const rows = Array.from({ length: ROWS }, (_, i) =>
        auditRow(acme.partnerId, 30_000 + i, { actorId: 'long', details: { filler: 'x'.repeat(1_500) } }),
      );
      await seal(rows);
      ({ bearer } = await inviteAndAccept(identity, acme.bearer, { roleId: await role('Partner Admin') }));
      port = (server().address() as AddressInfo).port;
    });
    afterEach(() => jest.restoreAllMocks());

    const server = () => identity.app.getHttpServer() as Server;
    /** Returns the caller of a bearer token. */
    const callerOf = async (who: TestUser): Promise<UserCaller> => {
      const claims = claimsOf(who.bearer);
      const { userId, partnerId } = who;
      const session = { userId, sessionId: claims.sid, scope: 'partner', partnerId, orgId: null } as const;
      const entry = await identity.app.get(AccessSnapshots).get(session);
      if (!entry) throw new Error('no user has this session');
      return entry.caller(false);
    };
    const open = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const path = '/api/v1/audit-logs/export?format=ndjson&actorId=long';
        const headers = { authorization: `Bearer ${bearer}` };
        httpGet({ host: '127.0.0.1', port, path, headers, agent: false }, resolve).on('error', reject);
      });
    /** Counts the pages read for the file, and may hold up or fail some. */
    const watchPages = (before: (page: number) => Promise<void> | void = () => undefined) => {
      const tenants = identity.app.get(TenantDatabase);
      const reader = tenants.reader.bind(tenants);
      const pages = { read: 0 };
      jest.spyOn(tenants, 'reader').mockImplementation((caller) => ({
        ...reader(caller),
        queryAll: async (statements) => {
          await before(++pages.read);
          return reader(caller).queryAll(statements);
        },
      }));
      return pages;
    };
    const failingAt = (failed: number) =>
      watchPages((page) => {
        if (page === failed) throw new Error('the database went away');
      });

    it('contains every entry once and in order', async () => {
      const response = await open();
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const rows = Buffer.concat(chunks).toString().trimEnd().split('\n');
      expect(response.complete).toBe(true);
      expect(rows.map((line) => (JSON.parse(line) as Row).resourceId)).toEqual(
        Array.from({ length: ROWS }, (_, i) => `thing-${30_000 + i}`),
      );
    });

    it('reads pages no faster than the client consumes them', async () => {
      const pages = watchPages();
      const file = await identity.app
        .get(AuditLogsService)
        .export(await callerOf(acme), { format: 'csv', actorId: 'long' });
      expect(pages.read).toBe(1);
      const stream = file.getStream();
      await once(stream, 'readable');
      stream.read();
      await identity.get('/config');
      expect(pages.read).toBeLessThanOrEqual(3);
      stream.destroy();
    });

    it('stops reading when the client disconnects', async () => {
      let release = () => undefined as void;
      const blocked = new Promise<void>((resolve) => (release = resolve));
      const pages = watchPages((page) => (page === 2 ? blocked : undefined));
      const response = await open();
      await eventually(() => expect(pages.read).toBe(2));
      response.destroy();
      const connections = () => new Promise<number>((resolve) => server().getConnections((_, count) => resolve(count)));
      await eventually(async () => expect(await connections()).toBe(0));
      release();
      await identity.get('/config');
      expect(pages.read).toBe(2);
    });

    it('ends when the session of the caller ends', async () => {
      const leaver = await inviteAndAccept(identity, acme.bearer, { roleId: await role('Partner Admin') });
      const caller = await callerOf({ ...leaver, partnerId: acme.partnerId });
      const file = await identity.app.get(AuditLogsService).export(caller, { format: 'csv', actorId: 'long' });
      expectStatus(await identity.post('/auth/logout', undefined, { bearer: leaver.bearer }), 200);
      await eventually(async () => expect((await identity.get('/users/me', leaver)).status).toBe(401));
      const taken: string[] = [];
      const take = async () => {
        for await (const chunk of file.getStream()) taken.push(chunk as string);
      };
      await expect(take()).rejects.toThrow(InvalidAccessToken);
      expect(taken).toHaveLength(1);
    });

    it('cuts the connection when a later page fails', async () => {
      failingAt(3);
      const response = await open();
      await expect(
        (async () => {
          for await (const chunk of response) void chunk;
        })(),
      ).rejects.toThrow('aborted');
      expect(response.complete).toBe(false);
    });

    it('returns an error response when the first page fails', async () => {
      failingAt(1);
      const response = await open();
      expect(response.statusCode).toBe(500);
      response.resume();
    });
  });
});
