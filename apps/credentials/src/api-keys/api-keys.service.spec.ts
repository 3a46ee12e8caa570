import { randomUUID } from 'node:crypto';
import { API_KEY_SCOPES, type Permission } from '@rmm/permissions';
import { hashKey } from '@rmm/secrets';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

describe('ApiKeysService', () => {
  let service: CredentialsTestApp;
  let partnerId: string;
  let orgId: string;
  let ours: Awaited<ReturnType<CredentialsTestApp['as']>>;
  let theirs: Awaited<ReturnType<CredentialsTestApp['as']>>;
  let theirOrgId: string;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ({ partnerId, orgId, owner: ours } = await service.createTenant());
    const other = await service.createPartner();
    theirOrgId = await service.createOrganization(other);
    theirs = await service.as({ partnerId: other });
  });
  afterAll(() => service?.stop());

  const create = async (more: object = {}, client = ours) => {
    const response = await client.post('/api-keys', { orgId, name: 'Reports', scopes: ['devices:read'], ...more });
    expect([response.status, response.body.code]).toEqual([201, undefined]);
    return response.body as { id: string; key: string; keyPrefix: string };
  };
  const age = (id: string, sql: string) => service.admin.query(`UPDATE api_key SET ${sql} WHERE id = $1`, [id]);

  describe('create', () => {
    it('returns the key once, in the documented format', async () => {
      const response = await ours.post('/api-keys', {
        orgId,
        name: ' Reports ',
        scopes: ['devices:read', 'devices:read'],
      });
      expect(response.status).toBe(201);
      expect(response.headers['cache-control']).toBe('no-store');
      const { key, id, ...rest } = response.body;
      expect(key).toMatch(/^svc_[A-Za-z0-9_-]{32}$/);
      expect(rest).toMatchObject({ name: 'Reports', keyPrefix: key.slice(0, 12), scopes: ['devices:read'] });
      expect(rest).toMatchObject({
        description: null,
        expiresAt: null,
        rateLimit: 1_000,
        status: 'active',
        sourceCidrs: [],
      });
      const read = await ours.get(`/api-keys/${id}`);
      expect(read.body).toMatchObject({ id, usageCount: 0, lastUsedAt: null, source: 'manual', principalId: null });
      const shown = JSON.stringify([read.body, (await ours.get(`/api-keys?orgId=${orgId}`)).body]);
      expect(shown).not.toContain(key);
      expect(shown).not.toContain(hashKey(key).toString('hex'));
      const { rows } = await service.admin.query('SELECT api_key::text AS row FROM api_key WHERE id = $1', [id]);
      expect(rows[0].row).not.toContain(key);
      const auditEntry = await service.findAuditEntry('api_key.create', id);
      expect(JSON.stringify(auditEntry)).not.toContain(key);
      expect(auditEntry).toMatchObject({ resourceName: 'Reports', details: { keyPrefix: key.slice(0, 12) } });
    });

    it('publishes the key without the key itself', async () => {
      const { id, key } = await create({ expiresAt: inMs(86_400_000) });
      const [event, ...others] = await service.findEvents(id, 1);
      const createdBy = service.identity.userIdOf(ours.token);
      expect([event, others]).toMatchObject([
        { type: 'api_key.created', partnerId, orgId, actor: { type: 'user', id: createdBy } },
        [],
      ]);
      expect(event.data).toEqual({
        apiKeyId: id,
        name: 'Reports',
        keyPrefix: key.slice(0, 12),
        scopes: ['devices:read'],
        expiresAt: expect.stringMatching(/Z$/),
        principalId: null,
        createdBy,
      });
      const text = JSON.stringify(event);
      expect(text).not.toContain(key);
      expect(text).not.toContain(key.slice(12));
      expect(text).not.toContain(hashKey(key).toString('hex'));
      expect(text).not.toContain(hashKey(key).toString('base64'));
    });

    it('publishes nothing when the transaction fails', async () => {
      const tenant = await service.createTenant();
      const body = { orgId: tenant.orgId, name: 'Reports', scopes: [] };
      await service.admin.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'refused by the spec'; END $$`);
      // The broadcast is the last statement of the transaction: the event is written before it.
      await service.admin.query(
        'CREATE TRIGGER refuse BEFORE INSERT ON outbox_broadcast FOR EACH ROW EXECUTE FUNCTION refuse()',
      );
      const failed = await tenant.owner.post('/api-keys', body);
      await service.admin.query('DROP FUNCTION refuse CASCADE');
      expect(failed.status).toBe(500);
      const stored = await create(body, tenant.owner);
      await service.findEvents(stored.id, 1);
      expect(service.events.filter((event) => event.orgId === tenant.orgId)).toHaveLength(1);
    });

    it.each([
      ['no organization', { orgId: undefined }, 'orgId'],
      ['an empty name', { name: ' ' }, 'name'],
      ['a name of 256 characters', { name: 'n'.repeat(256) }, 'name'],
      ['a control character', { name: 'a\u0007b' }, 'name'],
      ['a description of 1001 characters', { description: 'd'.repeat(1_001) }, 'description'],
      ['a limit of nothing', { rateLimit: 0 }, 'rateLimit'],
      ['a limit below nothing', { rateLimit: -1 }, 'rateLimit'],
      ['a limit over the limit', { rateLimit: 100_001 }, 'rateLimit'],
      ['a limit as text', { rateLimit: '50' }, 'rateLimit'],
      ['an end in the past', { expiresAt: inMs(-1_000) }, 'expiresAt'],
      ['an end without offset', { expiresAt: '2030-01-01T00:00:00' }, 'expiresAt'],
      ['no list of addresses', { sourceCidrs: ['office'] }, 'sourceCidrs.0'],
      ['an unknown field', { partnerId: randomUUID() }, 'partnerId'],
      ['a status', { status: 'active' }, 'status'],
    ])('refuses %s and names the field', async (_, more, field) => {
      const response = await ours.post('/api-keys', { orgId, name: 'x', scopes: [], ...more });
      expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
      expect(Object.keys(response.body.details.fieldErrors)).toEqual([field]);
    });

    it.each(['*', 'devices:*', '*:read'])('refuses the wildcard %s', async (scope) => {
      const response = await ours.post('/api-keys', { orgId, name: 'x', scopes: ['devices:read', scope] });
      expect([response.status, response.body.code]).toEqual([400, 'wildcard_scope_unsupported']);
      expect(response.body.error).toBe('wildcard API key scopes are unsupported');
    });

    it.each(['devices:fly', 'Devices:read', 'devices:read ', 'sites:read'])(
      'refuses the unknown scope "%s"',
      async (scope) => {
        const response = await ours.post('/api-keys', { orgId, name: 'x', scopes: [scope] });
        expect([response.status, response.body.code]).toEqual([400, 'unsupported_scope']);
        expect(response.body.supportedScopes).toEqual(Object.keys(API_KEY_SCOPES));
      },
    );

    it.each(Object.entries(API_KEY_SCOPES))('grants %s to callers with its permissions only', async (scope, needs) => {
      const manage: Permission[] = ['organizations:read', 'organizations:write'];
      const enough = await service.as({ partnerId, permissions: [...manage, ...needs] });
      await create({ scopes: [scope] }, enough);
      for (const lost of needs) {
        const less = await service.as({
          partnerId,
          permissions: [...manage, ...needs.filter((each) => each !== lost)],
        });
        const response = await less.post('/api-keys', { orgId, name: 'x', scopes: [scope] });
        expect([response.status, response.body.code, response.body.required]).toEqual([
          403,
          'permission_not_delegable',
          [lost],
        ]);
      }
    });
  });

  describe('access', () => {
    it.each(['post', 'patch', 'delete', 'rotate'] as const)(
      '%s requires the permission and a second factor',
      async (call) => {
        const { id } = await create();
        const send = (client: typeof ours) =>
          ({
            post: () => client.post('/api-keys', { orgId, name: 'x' }),
            patch: () => client.patch(`/api-keys/${id}`, { name: 'y' }),
            delete: () => client.delete(`/api-keys/${id}`),
            rotate: () => client.post(`/api-keys/${id}/rotate`),
          })[call]();
        const reader = await send(await service.as({ partnerId, permissions: ['organizations:read'] }));
        expect([reader.status, reader.body.required]).toEqual([403, ['organizations:write']]);
        const plain = await send(await service.as({ partnerId, mfa: false }));
        expect([plain.status, plain.body.code]).toEqual([403, 'mfa_required']);
        expect((await send(service.client())).body.code).toBe('unauthenticated');
        const machine = await send(service.client(undefined, { 'X-API-Key': `svc_${'a'.repeat(32)}` }));
        expect([machine.status, machine.body.code]).toEqual([401, 'api_key_not_accepted_here']);
      },
    );

    it('reads require the permission and no second factor', async () => {
      const { id } = await create();
      const reader = await service.as({ partnerId, permissions: ['organizations:read'], mfa: false });
      const blind = await service.as({ partnerId, permissions: ['organizations:write'] });
      for (const path of ['/api-keys', `/api-keys/${id}`, `/api-keys/${id}/usage`]) {
        expect((await reader.get(path)).status).toBe(200);
        expect((await blind.get(path)).body.required).toEqual(['organizations:read']);
      }
    });

    it('returns 404 for a key of another tenant, as for an unknown one', async () => {
      const { id } = await create();
      const unknown = randomUUID();
      for (const call of [
        (of: string) => theirs.get(`/api-keys/${of}`),
        (of: string) => theirs.get(`/api-keys/${of}/usage`),
        (of: string) => theirs.patch(`/api-keys/${of}`, { name: 'theirs' }),
        (of: string) => theirs.delete(`/api-keys/${of}`),
        (of: string) => theirs.post(`/api-keys/${of}/rotate`),
      ]) {
        const [foreign, none, malformed] = [await call(id), await call(unknown), await call('x')];
        expect([foreign.status, none.status, malformed.status]).toEqual([404, 404, 404]);
        expect({ ...foreign.body, requestId: '' }).toEqual({ ...none.body, requestId: '' });
      }
      for (const named of [orgId, unknown]) {
        const list = await theirs.get(`/api-keys?orgId=${named}`);
        expect([list.status, list.body.code]).toEqual([403, 'organization_access_denied']);
        const created = await theirs.post('/api-keys', { orgId: named, name: 'x' });
        expect([created.status, created.body.code]).toEqual([403, 'organization_access_denied']);
      }
      expect(await resolveName(id)).toBe('Reports');
    });

    const resolveName = async (id: string) => (await ours.get(`/api-keys/${id}`)).body.name as string;

    it('lists keys of the organizations of the caller: one, the selected ones, all', async () => {
      const second = await service.createOrganization(partnerId);
      const [first, other] = [await create(), await create({ orgId: second })];
      const member = await service.as({ scope: 'organization', partnerId, orgId });
      expect((await member.get(`/api-keys/${first.id}`)).status).toBe(200);
      expect((await member.get(`/api-keys/${other.id}`)).status).toBe(404);
      const selected = await service.as({ partnerId, orgAccess: 'selected', orgIds: [second] });
      expect((await selected.get('/api-keys')).body.data.map(({ id }: { id: string }) => id)).toEqual([other.id]);
      const none = await service.as({ partnerId, orgAccess: 'none' });
      expect((await none.get('/api-keys')).body.pagination.total).toBe(0);
      const system = await service.as({ scope: 'system' });
      expect((await system.get(`/api-keys/${other.id}`)).status).toBe(200);
      expect((await system.post('/api-keys', { orgId: theirOrgId, name: 'x' })).status).toBe(201);
    });
  });

  it('lets 20 concurrent calls create as many keys as the organization may still have', async () => {
    const own = await service.createOrganization(partnerId);
    await service.admin.query(
      `INSERT INTO api_key (partner_id, org_id, name, key_prefix, key_hash, scopes, rate_limit)
       SELECT $1, $2::uuid, 'k', 'svc_', decode(md5($2::text || n::text), 'hex'), '{}', 1 FROM generate_series(1, 195) n`,
      [partnerId, own],
    );
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => ours.post('/api-keys', { orgId: own, name: 'x', scopes: [] })),
    );
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(5);
    const refused = responses.filter(({ status }) => status !== 201);
    expect(new Set(refused.map(({ status, body }) => `${status} ${body.code}`))).toEqual(
      new Set(['409 key_limit_reached']),
    );
  });

  it('lists no keys of suspended and deleted organizations', async () => {
    const [live, suspended] = [
      await service.createOrganization(partnerId),
      await service.createOrganization(partnerId),
    ];
    const deleted = await service.createOrganization(partnerId);
    for (const each of [live, suspended, deleted]) await create({ orgId: each });
    const change = (of: string, state: object) =>
      service.publishOrganization('organization.updated', { orgId: of, partnerId, version: 2, ...state });
    await change(suspended, { status: 'suspended' });
    await change(deleted, { deleted: true });
    const listed = (await ours.get('/api-keys?limit=100')).body.data.map((row: { orgId: string }) => row.orgId);
    expect(listed).toContain(live);
    expect(listed).not.toContain(suspended);
    expect(listed).not.toContain(deleted);
  });

  it('lists newest first, by organization and current status', async () => {
    const own = await service.createOrganization(partnerId);
    const [a, b, c] = [
      await create({ orgId: own, name: 'a' }),
      await create({ orgId: own, name: 'b', expiresAt: inMs(60_000) }),
      await create({ orgId: own, name: 'c' }),
    ];
    await age(b.id, `expires_at = now() - interval '1 second'`);
    await ours.delete(`/api-keys/${c.id}`);
    const names = async (query: string) =>
      (await ours.get(`/api-keys?orgId=${own}${query}`)).body.data.map((row: { name: string }) => row.name);
    expect(await names('')).toEqual(['c', 'b', 'a']);
    expect(await names('&status=active')).toEqual(['a']);
    expect(await names('&status=expired')).toEqual(['b']);
    expect(await names('&status=revoked')).toEqual(['c']);
    expect(await names('&limit=2&page=2')).toEqual(['a']);
    expect((await ours.get('/api-keys?status=dead')).status).toBe(400);
    expect((await ours.get('/api-keys?limit=101')).status).toBe(400);
    expect(a.id).toBeDefined();
  });
});
