import { randomUUID } from 'node:crypto';
import { CREDENTIALS_KEYS_RESOLVE, type ResolvedApiKey } from '@rmm/contracts';
import { hashKey } from '@rmm/secrets';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';

interface Made {
  id: string;
  apiKeyId: string;
  key: string;
}

describe('/service-principals', () => {
  let service: CredentialsTestApp;
  let partnerId: string;
  let orgId: string;
  let ours: Awaited<ReturnType<CredentialsTestApp['as']>>;
  let theirs: Awaited<ReturnType<CredentialsTestApp['as']>>;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    partnerId = await service.createPartner();
    orgId = await service.createOrganization(partnerId);
    ours = await service.as({ partnerId });
    theirs = await service.as({ partnerId: await service.createPartner() });
  }, 60_000);
  afterAll(() => service?.stop());

  const make = async (more: object = {}, client = ours) =>
    (await client.post('/service-principals', { orgId, name: 'Sync', scopes: ['devices:read'], ...more }).expect(201))
      .body as Made;
  const makeKey = async (more: object = {}, client = ours) =>
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

  it('are made with their key, which is shown this once', async () => {
    const answer = await ours.post('/service-principals', { orgId, name: ' Sync ', scopes: ['devices:read'] });
    expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store']);
    const { id, key, apiKeyId, keyPrefix, warning, ...record } = answer.body;
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
    const audited = JSON.stringify(await service.findAuditEntry('service_principal.create', id));
    expect(audited).toContain(keyPrefix);
    expect(audited).not.toContain(key);
  });

  it('may have no scope at all', async () => {
    expect((await resolve((await make({ scopes: [] })).key))?.scopes).toEqual([]);
  });

  it.each([
    ['no scopes', { scopes: undefined }, 'scopes'],
    ['scopes that are null', { scopes: null }, 'scopes'],
    ['no name', { name: '' }, 'name'],
    ['no organization, of a partner', { orgId: undefined }, 'orgId'],
    ['an unknown field', { status: 'active' }, 'status'],
  ])('with %s are refused', async (_, more, field) => {
    const answer = await ours.post('/service-principals', { orgId, name: 'x', scopes: [], ...more });
    expect([answer.status, Object.keys(answer.body.details.fieldErrors)]).toEqual([400, [field]]);
  });

  it('know the scopes of API keys', async () => {
    const create = (scopes: string[]) => ours.post('/service-principals', { orgId, name: 'x', scopes });
    expect((await create(['*'])).body.code).toBe('wildcard_scope_unsupported');
    expect((await create(['sites:read'])).body.code).toBe('unsupported_scope');
  });

  it('infer the organization of a member of one', async () => {
    const member = await service.as({ scope: 'organization', partnerId, orgId });
    expect((await make({ orgId: undefined }, member)).id).toBeDefined();
  });

  it('are listed newest first, by organization and status', async () => {
    const own = await service.createOrganization(partnerId);
    const [a, b] = [await make({ orgId: own, name: 'a' }), await make({ orgId: own, name: 'b' })];
    await act(a.id, 'disable').expect(200);
    const ids = async (query: string) =>
      (await ours.get(`/service-principals?orgId=${own}${query}`)).body.data.map(({ id }: Made) => id);
    expect(await ids('')).toEqual([b.id, a.id]);
    expect([await ids('&status=active'), await ids('&status=disabled')]).toEqual([[b.id], [a.id]]);
    expect((await ours.get('/service-principals?status=gone')).status).toBe(400);
  });

  describe('are closed', () => {
    const calls = (id: string, keyId: string) => ({
      create: (client: typeof ours) => client.post('/service-principals', { orgId, name: 'x', scopes: [] }),
      rotate: (client: typeof ours) => act(id, 'rotate', client),
      disable: (client: typeof ours) => act(id, 'disable', client),
      'migrate-key': (client: typeof ours) => migrate(id, keyId, client),
    });

    it.each(['create', 'rotate', 'disable', 'migrate-key'] as const)(
      'to %s for whom lacks the permission, the factor, or the whole organization, and for machines',
      async (call) => {
        const [{ id }, { id: keyId, key }] = [await make(), await makeKey()];
        const send = calls(id, keyId)[call];
        const reader = await send(await service.as({ partnerId, permissions: ['organizations:read'] }));
        expect([reader.status, reader.body.required]).toEqual([403, ['organizations:write']]);
        expect((await send(await service.as({ partnerId, mfa: false }))).body.code).toBe('mfa_required');
        const confined = await send(
          await service.as({ scope: 'organization', partnerId, orgId, siteIds: [randomUUID()] }),
        );
        expect([confined.status, confined.body.code]).toEqual([403, 'site_restricted']);
        expect(confined.body.error).toBe(
          'Service principals are organization-wide; a site-restricted user cannot manage them.',
        );
        const machine = await send(service.client(undefined, { 'X-API-Key': key }));
        expect([machine.status, machine.body.code]).toEqual([401, 'api_key_not_accepted_here']);
        expect(await activeKeysOf(id)).toHaveLength(1);
      },
    );

    it('to other tenants, as if there were none', async () => {
      const { id } = await make();
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
      const made = await theirs.post('/service-principals', { orgId, name: 'x', scopes: [] });
      expect([made.status, made.body.code]).toEqual([403, 'organization_access_denied']);
    });

    it('to grants beyond what the caller holds', async () => {
      const { id } = await make({ scopes: ['devices:read', 'scripts:execute'] });
      const permissions = ['organizations:read', 'organizations:write', 'devices:read'];
      const less = await service.as({ partnerId, permissions });
      const enough = await service.as({ partnerId, permissions: [...permissions, 'scripts:execute'] });
      const { id: keyId } = await makeKey({ scopes: ['scripts:execute'] });
      const refused = { status: 403, code: 'permission_not_delegable', required: ['scripts:execute'] };
      const create = (client: typeof ours) =>
        client.post('/service-principals', { orgId, name: 'x', scopes: ['scripts:execute'] });
      for (const send of [
        create,
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
    it('ends the old key and carries its limits over', async () => {
      const { id, apiKeyId, key } = await make();
      const limits = { rateLimit: 42, sourceCidrs: ['10.0.0.0/8'] };
      await ours.patch(`/api-keys/${apiKeyId}`, limits).expect(200);
      const end = new Date(Date.now() + 1e8).toISOString();
      await service.admin.query('UPDATE api_key SET expires_at = $2 WHERE id = $1', [apiKeyId, end]);
      const answer = await act(id, 'rotate');
      expect([answer.status, answer.headers['cache-control']]).toEqual([200, 'no-store']);
      expect(Object.keys(answer.body).sort()).toEqual(['apiKeyId', 'key', 'keyPrefix', 'warning']);
      expect([await statusOf(key), await statusOf(answer.body.key)]).toEqual(['revoked', 'active']);
      const fresh = (await ours.get(`/api-keys/${answer.body.apiKeyId}`)).body;
      expect(fresh).toMatchObject({ ...limits, expiresAt: end, principalId: id });
      await service.findBroadcast(apiKeyId, 'rotated');
      expect(await service.findAuditEntry('service_principal.rotate_key', id)).toMatchObject({
        details: { keyPrefix: answer.body.keyPrefix, revoked: [key.slice(0, 12)] },
      });
    });

    it('does not carry over an end that has passed', async () => {
      const { id, apiKeyId } = await make();
      await service.admin.query(`UPDATE api_key SET expires_at = now() - interval '1 day' WHERE id = $1`, [apiKeyId]);
      const { body } = await act(id, 'rotate').expect(200);
      expect(await statusOf(body.key as string)).toBe('active');
    });

    it('by ten at once leaves one active key, and never two', async () => {
      const { id } = await make();
      const answers = await Promise.all(Array.from({ length: 10 }, () => act(id, 'rotate')));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(await activeKeysOf(id)).toHaveLength(1);
    });

    it('of their key alone is refused under /api-keys', async () => {
      const { apiKeyId } = await make();
      const answer = await ours.post(`/api-keys/${apiKeyId}/rotate`);
      expect([answer.status, answer.body.code]).toEqual([409, 'service_principal_key']);
    });

    it('gives a key also after the last one was revoked by hand', async () => {
      const { id, apiKeyId } = await make();
      await ours.delete(`/api-keys/${apiKeyId}`).expect(200);
      await act(id, 'rotate').expect(200);
      expect(await activeKeysOf(id)).toHaveLength(1);
    });
  });

  describe('disable', () => {
    it('revokes the key, says so, and may be repeated', async () => {
      const { id, apiKeyId, key } = await make();
      const answer = await act(id, 'disable');
      expect([answer.status, answer.body.status]).toEqual([200, 'disabled']);
      expect(await statusOf(key)).toBe('revoked');
      await service.findBroadcast(apiKeyId, 'principal_disabled');
      const again = await act(id, 'disable');
      expect([again.status, again.body]).toEqual([200, answer.body]);
      for (const late of [await act(id, 'rotate'), await migrate(id, (await makeKey()).id)]) {
        expect([late.status, late.body.code]).toEqual([409, 'service_principal_disabled']);
      }
    });

    it('while it is rotated leaves no active key', async () => {
      for (let round = 0; round < 5; round++) {
        const { id } = await make();
        await Promise.all([act(id, 'rotate'), act(id, 'disable'), act(id, 'rotate'), act(id, 'rotate')]);
        expect(await activeKeysOf(id)).toEqual([]);
      }
    });
  });

  describe('migrate-key', () => {
    it('hands a key over, cut to what both may do, and revokes the other one', async () => {
      const { id, apiKeyId, key } = await make({ scopes: ['devices:read', 'scripts:read'] });
      const hand = await makeKey({ scopes: ['scripts:read', 'alerts:read'], rateLimit: 9 });
      const answer = await migrate(id, hand.id);
      expect([answer.status, answer.body]).toMatchObject([
        200,
        { id: hand.id, source: 'service_principal', principalId: id, scopes: ['scripts:read'], rateLimit: 9 },
      ]);
      expect([await statusOf(key), await statusOf(hand.key)]).toEqual(['revoked', 'active']);
      expect(await activeKeysOf(id)).toEqual([hand.id]);
      await Promise.all([service.findBroadcast(apiKeyId, 'revoked'), service.findBroadcast(hand.id, 'updated')]);
      await service.findAuditEntry('service_principal.migrate_key', id);
    });

    it('lets the key live on when its maker leaves', async () => {
      const maker = await service.as({ partnerId });
      const { id } = await make();
      const hand = await makeKey({}, maker);
      await migrate(id, hand.id).expect(200);
      service.identity.change(service.identity.userIdOf(maker.token), { userStatus: 'disabled' });
      expect(await statusOf(hand.key)).toBe('active');
    });

    it('refuses keys of other organizations, of principals, unknown and ended ones', async () => {
      const { id } = await make();
      const [other, foreign] = [await service.createOrganization(partnerId), await makeKey()];
      const revoked = await makeKey();
      await ours.delete(`/api-keys/${revoked.id}`).expect(200);
      const expired = await makeKey();
      await service.admin.query('UPDATE api_key SET expires_at = now() WHERE id = $1', [expired.id]);
      const code = async (keyId: string) => {
        const { status, body } = await migrate(id, keyId);
        return [status, body.code];
      };
      expect(await code((await makeKey({ orgId: other })).id)).toEqual([400, 'key_not_in_organization']);
      expect(await code((await make()).apiKeyId)).toEqual([409, 'service_principal_key']);
      expect(await code(randomUUID())).toEqual([404, 'not_found']);
      expect(await code(revoked.id)).toEqual([400, 'api_key_not_active']);
      expect(await code(expired.id)).toEqual([400, 'api_key_not_active']);
      expect((await migrate(id, 'x')).status).toBe(400);
      expect((await theirs.get(`/api-keys/${foreign.id}`)).status).toBe(404);
    });

    it('while it is rotated leaves one active key', async () => {
      for (let round = 0; round < 5; round++) {
        const [{ id }, { id: keyId }] = [await make(), await makeKey()];
        await Promise.all([migrate(id, keyId), act(id, 'rotate'), act(id, 'rotate')]);
        expect(await activeKeysOf(id)).toHaveLength(1);
      }
    });
  });

  it('cut their key to what they may do, whatever it says', async () => {
    const { apiKeyId, key } = await make({ scopes: ['devices:read'] });
    await ours.patch(`/api-keys/${apiKeyId}`, { scopes: ['devices:read', 'scripts:execute'] }).expect(200);
    expect((await resolve(key))?.scopes).toEqual(['devices:read']);
  });

  it('outlive who made them, and their keys are not for members confined to sites', async () => {
    const maker = await service.as({ partnerId });
    const { apiKeyId, key } = await make({}, maker);
    service.identity.change(service.identity.userIdOf(maker.token), { membershipExists: false });
    expect(await statusOf(key)).toBe('active');
    const confined = await service.as({ scope: 'organization', partnerId, orgId, siteIds: [randomUUID()] });
    for (const answer of [
      await confined.patch(`/api-keys/${apiKeyId}`, { name: 'x' }),
      await confined.delete(`/api-keys/${apiKeyId}`),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([403, 'site_restricted']);
    }
  });
});
