import { randomUUID } from 'node:crypto';
import { CREDENTIALS_KEYS_RESOLVE, type ResolvedApiKey } from '@rmm/contracts';
import type { Permission } from '@rmm/permissions';
import { hashKey } from '@rmm/secrets';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';

interface Created {
  id: string;
  apiKeyId: string;
  key: string;
}

describe('ServicePrincipalsService', () => {
  let service: CredentialsTestApp;
  let partnerId: string;
  let orgId: string;
  let ours: Awaited<ReturnType<CredentialsTestApp['as']>>;
  let theirs: Awaited<ReturnType<CredentialsTestApp['as']>>;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ({ partnerId, orgId, owner: ours } = await service.createTenant());
    theirs = await service.as({ partnerId: await service.createPartner() });
  });
  afterAll(() => service?.stop());

  const create = async (more: object = {}, client = ours) =>
    (await client.post('/service-principals', { orgId, name: 'Sync', scopes: ['devices:read'], ...more }).expect(201))
      .body as Created;
  const createKey = async (more: object = {}, client = ours) =>
    (await client.post('/api-keys', { orgId, name: 'By hand', scopes: ['devices:read'], ...more }).expect(201))
      .body as {
      id: string;
      key: string;
    };
  const resolve = (key: string) =>
    service.request(CREDENTIALS_KEYS_RESOLVE, {
      keyHash: hashKey(key).toString('hex'),
    }) as Promise<ResolvedApiKey | null>;
  const statusOf = async (key: string) => (await resolve(key))?.status;
  const activeKeysOf = async (id: string) =>
    (await service.admin.query(`SELECT id FROM api_key WHERE principal_id = $1 AND status = 'active'`, [id])).rows.map(
      (row: { id: string }) => row.id,
    );
  const act = (id: string, what: 'rotate' | 'disable', client = ours) =>
    client.post(`/service-principals/${id}/${what}`);
  const migrate = (id: string, keyId: string, client = ours) =>
    client.post(`/service-principals/${id}/migrate-key`, { keyId });

  it('creates a principal with its key and shows the key once', async () => {
    const response = await ours.post('/service-principals', { orgId, name: ' Sync ', scopes: ['devices:read'] });
    expect([response.status, response.headers['cache-control']]).toEqual([201, 'no-store']);
    const { id, key, apiKeyId, keyPrefix, warning, ...record } = response.body;
    expect(record).toMatchObject({ orgId, name: 'Sync', scopes: ['devices:read'], status: 'active' });
    expect([record.createdBy, record.lastUpdatedBy]).toEqual(Array(2).fill(service.identity.userIdOf(ours.token)));
    expect(warning).toContain('not shown again');
    expect(key.slice(0, 12)).toBe(keyPrefix);
    expect((await ours.get(`/service-principals/${id}`)).body).toEqual({ id, ...record });
    expect((await ours.get(`/api-keys/${apiKeyId}`)).body).toMatchObject({
      source: 'service_principal',
      principalId: id,
      rateLimit: 1_000,
      expiresAt: null,
    });
    expect(await resolve(key)).toMatchObject({ status: 'active', scopes: ['devices:read'], principalId: id });
    const auditEntry = JSON.stringify(await service.findAuditEntry('service_principal.create', id));
    expect(auditEntry).toContain(keyPrefix);
    expect(auditEntry).not.toContain(key);
    const [event] = await service.findEvents(apiKeyId, 1);
    expect(event).toMatchObject({ type: 'api_key.created', orgId, data: { principalId: id, keyPrefix } });
    expect(JSON.stringify(event)).not.toContain(key);
  });

  it('accepts no scopes', async () => {
    expect((await resolve((await create({ scopes: [] })).key))?.scopes).toEqual([]);
  });

  it.each([
    ['no scopes', { scopes: undefined }, 'scopes'],
    ['scopes that are null', { scopes: null }, 'scopes'],
    ['no name', { name: '' }, 'name'],
    ['no organization, of a partner', { orgId: undefined }, 'orgId'],
    ['an unknown field', { status: 'active' }, 'status'],
  ])('refuses %s', async (_, more, field) => {
    const response = await ours.post('/service-principals', { orgId, name: 'x', scopes: [], ...more });
    expect([response.status, Object.keys(response.body.details.fieldErrors)]).toEqual([400, [field]]);
  });

  it('accepts the scopes of API keys only', async () => {
    const create = (scopes: string[]) => ours.post('/service-principals', { orgId, name: 'x', scopes });
    expect((await create(['*'])).body.code).toBe('wildcard_scope_unsupported');
    expect((await create(['sites:read'])).body.code).toBe('unsupported_scope');
  });

  it('uses the organization of its member', async () => {
    const member = await service.as({ scope: 'organization', partnerId, orgId });
    expect((await create({ orgId: undefined }, member)).id).toBeDefined();
  });

  it('lists newest first, by organization and status', async () => {
    const own = await service.createOrganization(partnerId);
    const [a, b] = [await create({ orgId: own, name: 'a' }), await create({ orgId: own, name: 'b' })];
    await act(a.id, 'disable').expect(200);
    const ids = async (query: string) =>
      (await ours.get(`/service-principals?orgId=${own}${query}`)).body.data.map(({ id }: Created) => id);
    expect(await ids('')).toEqual([b.id, a.id]);
    expect([await ids('&status=active'), await ids('&status=disabled')]).toEqual([[b.id], [a.id]]);
    expect((await ours.get('/service-principals?status=gone')).status).toBe(400);
  });

  describe('access', () => {
    const calls = (id: string, keyId: string) => ({
      create: (client: typeof ours) => client.post('/service-principals', { orgId, name: 'x', scopes: [] }),
      rotate: (client: typeof ours) => act(id, 'rotate', client),
      disable: (client: typeof ours) => act(id, 'disable', client),
      'migrate-key': (client: typeof ours) => migrate(id, keyId, client),
    });

    it.each(['create', 'rotate', 'disable', 'migrate-key'] as const)(
      'to %s for whom lacks the permission, the factor, or the whole organization, and for machines',
      async (call) => {
        const [{ id }, { id: keyId, key }] = [await create(), await createKey()];
        const send = calls(id, keyId)[call];
        const reader = await send(await service.as({ partnerId, permissions: ['organizations:read'] }));
        expect([reader.status, reader.body.required]).toEqual([403, ['organizations:write']]);
        expect((await send(await service.as({ partnerId, mfa: false }))).body.code).toBe('mfa_required');
        const restricted = await send(
          await service.as({ scope: 'organization', partnerId, orgId, siteIds: [randomUUID()] }),
        );
        expect([restricted.status, restricted.body.code]).toEqual([403, 'site_restricted']);
        expect(restricted.body.error).toBe(
          'Service principals are organization-wide; a site-restricted user cannot manage them.',
        );
        const machine = await send(service.client(undefined, { 'X-API-Key': key }));
        expect([machine.status, machine.body.code]).toEqual([401, 'api_key_not_accepted_here']);
        expect(await activeKeysOf(id)).toHaveLength(1);
      },
    );

    it('returns 404 to other tenants', async () => {
      const { id } = await create();
      for (const call of [
        (of: string) => theirs.get(`/service-principals/${of}`),
        (of: string) => act(of, 'rotate', theirs),
        (of: string) => act(of, 'disable', theirs),
        (of: string) => migrate(of, randomUUID(), theirs),
      ]) {
        const [foreign, none] = [await call(id), await call(randomUUID())];
        expect([foreign.status, none.status]).toEqual([404, 404]);
        expect({ ...foreign.body, requestId: '' }).toEqual({ ...none.body, requestId: '' });
      }
      const created = await theirs.post('/service-principals', { orgId, name: 'x', scopes: [] });
      expect([created.status, created.body.code]).toEqual([403, 'organization_access_denied']);
    });

    it('refuses grants beyond the permissions of the caller', async () => {
      const { id } = await create({ scopes: ['devices:read', 'scripts:execute'] });
      const permissions: Permission[] = ['organizations:read', 'organizations:write', 'devices:read'];
      const less = await service.as({ partnerId, permissions });
      const enough = await service.as({ partnerId, permissions: [...permissions, 'scripts:execute'] });
      const { id: keyId } = await createKey({ scopes: ['scripts:execute'] });
      const refused = { status: 403, code: 'permission_not_delegable', required: ['scripts:execute'] };
      const createAnother = (client: typeof ours) =>
        client.post('/service-principals', { orgId, name: 'x', scopes: ['scripts:execute'] });
      for (const send of [
        createAnother,
        (c: typeof ours) => act(id, 'rotate', c),
        (c: typeof ours) => migrate(id, keyId, c),
      ]) {
        const { status, body } = await send(less);
        expect({ status, code: body.code, required: body.required }).toEqual(refused);
        expect((await send(enough)).status).toBeLessThan(300);
      }
    });
  });

  describe('rotate', () => {
    it('revokes the old key and keeps its limits', async () => {
      const { id, apiKeyId, key } = await create();
      const limits = { rateLimit: 42, sourceCidrs: ['10.0.0.0/8'] };
      await ours.patch(`/api-keys/${apiKeyId}`, limits).expect(200);
      const end = new Date(Date.now() + 1e8).toISOString();
      await service.admin.query('UPDATE api_key SET expires_at = $2 WHERE id = $1', [apiKeyId, end]);
      const response = await act(id, 'rotate');
      expect([response.status, response.headers['cache-control']]).toEqual([200, 'no-store']);
      expect(Object.keys(response.body).sort()).toEqual(['apiKeyId', 'key', 'keyPrefix', 'warning']);
      expect([await statusOf(key), await statusOf(response.body.key)]).toEqual(['revoked', 'active']);
      const fresh = (await ours.get(`/api-keys/${response.body.apiKeyId}`)).body;
      expect(fresh).toMatchObject({ ...limits, expiresAt: end, principalId: id });
      await service.findBroadcast(apiKeyId, 'rotated');
      expect(await service.findAuditEntry('service_principal.rotate_key', id)).toMatchObject({
        details: { keyPrefix: response.body.keyPrefix, revoked: [key.slice(0, 12)] },
      });
      const events = [...(await service.findEvents(apiKeyId, 3)), ...(await service.findEvents(fresh.id, 1))];
      expect(events.map(({ type }) => type)).toEqual([
        'api_key.created',
        'api_key.updated',
        'api_key.revoked',
        'api_key.created',
      ]);
    });

    it('requires an expiry once the old key has expired', async () => {
      const { id, apiKeyId } = await create();
      await service.admin.query(`UPDATE api_key SET expires_at = now() - interval '1 day' WHERE id = $1`, [apiKeyId]);
      const refused = await act(id, 'rotate');
      expect([refused.status, refused.body.code]).toEqual([400, 'expiry_required']);
      const past = await ours.post(`/service-principals/${id}/rotate`, { expiresAt: new Date(0).toISOString() });
      expect([past.status, past.body.code]).toEqual([400, 'validation_failed']);
      const expiresAt = new Date(Date.now() + 1e8).toISOString();
      const { body } = await ours.post(`/service-principals/${id}/rotate`, { expiresAt }).expect(200);
      expect((await ours.get(`/api-keys/${body.apiKeyId}`)).body).toMatchObject({ status: 'active', expiresAt });
    });

    it('replaces the expiry by the given one', async () => {
      const { id } = await create();
      const expiresAt = new Date(Date.now() + 1e8).toISOString();
      const { body } = await ours.post(`/service-principals/${id}/rotate`, { expiresAt }).expect(200);
      expect((await ours.get(`/api-keys/${body.apiKeyId}`)).body.expiresAt).toBe(expiresAt);
    });

    it('leaves exactly one active key after twenty concurrent rotations', async () => {
      const { id } = await create();
      const responses = await Promise.all(Array.from({ length: 20 }, () => act(id, 'rotate')));
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
      expect(await activeKeysOf(id)).toHaveLength(1);
    });

    it('refuses rotation of its key under /api-keys', async () => {
      const { apiKeyId } = await create();
      const response = await ours.post(`/api-keys/${apiKeyId}/rotate`);
      expect([response.status, response.body.code]).toEqual([409, 'service_principal_key']);
    });

    it('creates a key after the last one was revoked', async () => {
      const { id, apiKeyId } = await create();
      await ours.delete(`/api-keys/${apiKeyId}`).expect(200);
      await act(id, 'rotate').expect(200);
      expect(await activeKeysOf(id)).toHaveLength(1);
    });
  });

  describe('disable', () => {
    it('revokes the key, publishes it, and accepts a second call', async () => {
      const { id, apiKeyId, key } = await create();
      const response = await act(id, 'disable');
      expect([response.status, response.body.status]).toEqual([200, 'disabled']);
      expect(await statusOf(key)).toBe('revoked');
      await service.findBroadcast(apiKeyId, 'principal_disabled');
      const again = await act(id, 'disable');
      expect([again.status, again.body]).toEqual([200, response.body]);
      const types = (await service.findEvents(apiKeyId, 2)).map(({ type }) => type);
      expect(types).toEqual(['api_key.created', 'api_key.revoked']);
      for (const late of [await act(id, 'rotate'), await migrate(id, (await createKey()).id)]) {
        expect([late.status, late.body.code]).toEqual([409, 'service_principal_disabled']);
      }
    });

    it('leaves no active key when it races a rotation', async () => {
      for (let round = 0; round < 5; round++) {
        const { id } = await create();
        await Promise.all([act(id, 'rotate'), act(id, 'disable'), act(id, 'rotate'), act(id, 'rotate')]);
        expect(await activeKeysOf(id)).toEqual([]);
      }
    });
  });

  describe('migrate-key', () => {
    it('assigns a key with the scopes of both and revokes the other key', async () => {
      const { id, apiKeyId, key } = await create({ scopes: ['devices:read', 'scripts:read'] });
      const hand = await createKey({ scopes: ['scripts:read', 'alerts:read'], rateLimit: 9 });
      const response = await migrate(id, hand.id);
      expect([response.status, response.body]).toMatchObject([
        200,
        { id: hand.id, source: 'service_principal', principalId: id, scopes: ['scripts:read'], rateLimit: 9 },
      ]);
      expect([await statusOf(key), await statusOf(hand.key)]).toEqual(['revoked', 'active']);
      expect(await activeKeysOf(id)).toEqual([hand.id]);
      await Promise.all([service.findBroadcast(apiKeyId, 'revoked'), service.findBroadcast(hand.id, 'updated')]);
      await service.findAuditEntry('service_principal.migrate_key', id);
      const [, revoked] = await service.findEvents(apiKeyId, 2);
      const [, updated] = await service.findEvents(hand.id, 2);
      expect(revoked).toMatchObject({ type: 'api_key.revoked', data: { apiKeyId } });
      expect(updated).toMatchObject({ type: 'api_key.updated', data: { apiKeyId: hand.id, principalId: id } });
      expect(updated.data).toMatchObject({ scopes: ['scripts:read'], fields: ['principalId', 'scopes'] });
    });

    it('ends the overlap with the key before a rotation', async () => {
      const { id } = await create();
      const human = await createKey();
      const { body } = await ours.post(`/api-keys/${human.id}/rotate`, { overlapSeconds: 3_600 }).expect(200);
      expect(await statusOf(human.key)).toBe('active');
      await migrate(id, human.id).expect(200);
      expect(await statusOf(human.key)).toBeUndefined();
      expect(await statusOf(body.key as string)).toBe('active');
    });

    it('keeps the key working when its creator leaves', async () => {
      const creator = await service.as({ partnerId });
      const { id } = await create();
      const hand = await createKey({}, creator);
      await migrate(id, hand.id).expect(200);
      service.identity.change(service.identity.userIdOf(creator.token), { userStatus: 'disabled' });
      expect(await statusOf(hand.key)).toBe('active');
    });

    it('refuses keys of other organizations, of principals, unknown and inactive keys', async () => {
      const { id } = await create();
      const [other, foreign] = [await service.createOrganization(partnerId), await createKey()];
      const revoked = await createKey();
      await ours.delete(`/api-keys/${revoked.id}`).expect(200);
      const expired = await createKey();
      await service.admin.query('UPDATE api_key SET expires_at = now() WHERE id = $1', [expired.id]);
      const code = async (keyId: string) => {
        const { status, body } = await migrate(id, keyId);
        return [status, body.code];
      };
      expect(await code((await createKey({ orgId: other })).id)).toEqual([400, 'key_not_in_organization']);
      expect(await code((await create()).apiKeyId)).toEqual([409, 'service_principal_key']);
      expect(await code(randomUUID())).toEqual([404, 'not_found']);
      expect(await code(revoked.id)).toEqual([400, 'api_key_not_active']);
      expect(await code(expired.id)).toEqual([400, 'api_key_not_active']);
      expect((await migrate(id, 'x')).status).toBe(400);
      expect((await theirs.get(`/api-keys/${foreign.id}`)).status).toBe(404);
    });

    it('leaves one active key when it races a rotation', async () => {
      for (let round = 0; round < 5; round++) {
        const [{ id }, { id: keyId }] = [await create(), await createKey()];
        await Promise.all([migrate(id, keyId), act(id, 'rotate'), act(id, 'rotate')]);
        expect(await activeKeysOf(id)).toHaveLength(1);
      }
    });
  });

  it('restricts the key to the scopes of the principal', async () => {
    const { apiKeyId, key } = await create({ scopes: ['devices:read'] });
    await ours.patch(`/api-keys/${apiKeyId}`, { scopes: ['devices:read', 'scripts:execute'] }).expect(200);
    expect((await resolve(key))?.scopes).toEqual(['devices:read']);
  });

  it('keeps keys working without their creator, and hides them from site-restricted members', async () => {
    const creator = await service.as({ partnerId });
    const { apiKeyId, key } = await create({}, creator);
    service.identity.change(service.identity.userIdOf(creator.token), { membershipExists: false });
    expect(await statusOf(key)).toBe('active');
    const restricted = await service.as({ scope: 'organization', partnerId, orgId, siteIds: [randomUUID()] });
    for (const response of [
      await restricted.patch(`/api-keys/${apiKeyId}`, { name: 'x' }),
      await restricted.delete(`/api-keys/${apiKeyId}`),
    ]) {
      expect([response.status, response.body.code]).toEqual([403, 'site_restricted']);
    }
  });
});
