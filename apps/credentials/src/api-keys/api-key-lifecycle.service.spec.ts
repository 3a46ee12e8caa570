import { randomUUID } from 'node:crypto';
import { CREDENTIALS_KEYS_RECORD_USAGE, CREDENTIALS_KEYS_RESOLVE, type ResolvedApiKey } from '@rmm/contracts';
import type { Permission } from '@rmm/permissions';
import { hashKey } from '@rmm/secrets';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';
import { ApiKeyExpiryService } from './api-key-expiry.service.js';

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

describe('ApiKeyLifecycleService', () => {
  let service: CredentialsTestApp;
  let partnerId: string;
  let orgId: string;
  let ours: Awaited<ReturnType<CredentialsTestApp['as']>>;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ({ partnerId, orgId, owner: ours } = await service.createTenant());
  });
  afterAll(() => service?.stop());

  const create = async (more: object = {}, client = ours) =>
    (await client.post('/api-keys', { orgId, name: 'Reports', scopes: ['devices:read'], ...more }).expect(201))
      .body as {
      id: string;
      key: string;
    };
  const rotate = (id: string, body: object = {}, client = ours) => client.post(`/api-keys/${id}/rotate`, body);
  const resolve = (key: string) =>
    service.request(CREDENTIALS_KEYS_RESOLVE, {
      keyHash: hashKey(key).toString('hex'),
    }) as Promise<ResolvedApiKey | null>;
  const use = (keyId: string, generation: number, count: number) =>
    service.request(CREDENTIALS_KEYS_RECORD_USAGE, {
      batchId: randomUUID(),
      uses: [{ keyId, kind: 'api_key', generation, count, lastUsedAt: new Date().toISOString() }],
    });
  const statusOf = async (key: string) => (await resolve(key))?.status;
  const age = (id: string, sql: string) => service.admin.query(`UPDATE api_key SET ${sql} WHERE id = $1`, [id]);

  it('changes and revokes a key for its entity tag only, whatever the key is used meanwhile', async () => {
    const { id } = await create();
    const path = `/api-keys/${id}`;
    const { etag } = (await ours.get(path)).headers as { etag: string };
    await ours.get(path).set('If-None-Match', etag).expect(304);
    await use(id, 1, 3);
    expect((await ours.get(path).set('If-None-Match', etag)).body.usageCount).toBe(3);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => ours.patch(path, { name: `Key ${n}` }).set('If-Match', etag)),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
    const current = responses.find(({ status }) => status === 200)?.headers['etag'] ?? '';
    expect((await ours.get(path)).headers['etag']).toBe(current);
    const refused = await ours.delete(path).set('If-Match', etag);
    expect([refused.status, refused.body.code]).toEqual([412, 'precondition_failed']);
    const { owner: stranger } = await service.createTenant();
    await stranger.delete(path).set('If-Match', current).expect(404);
    await ours.delete(path).set('If-Match', 'x').expect(400);
    await ours.delete(path).set('If-Match', current).expect(200);
  });

  describe('rotate', () => {
    it('keeps the record, resets its counters and ends the old key', async () => {
      const { id, key } = await create({ rateLimit: 7, sourceCidrs: ['10.0.0.0/8'] });
      await use(id, 1, 12);
      const response = await rotate(id);
      expect([response.status, response.headers['cache-control']]).toEqual([200, 'no-store']);
      expect(response.body).toMatchObject({
        id,
        usageCount: 0,
        lastUsedAt: null,
        rateLimit: 7,
        sourceCidrs: ['10.0.0.0/8'],
      });
      expect(response.body.key).toMatch(/^svc_[A-Za-z0-9_-]{32}$/);
      expect(response.body.key.slice(0, 12)).toBe(response.body.keyPrefix);
      expect(response.body.previousKeyValidUntil).toBeNull();
      expect(await resolve(key)).toBeNull();
      expect(await resolve(response.body.key)).toMatchObject({ keyId: id, status: 'active', generation: 2 });
      expect((await service.findBroadcast(id, 'rotated')).keyHashes).toEqual([hashKey(key).toString('hex')]);
      const auditEntry = JSON.stringify(await service.findAuditEntry('api_key.rotate', id));
      expect(auditEntry).toContain(key.slice(0, 12));
      expect(auditEntry).not.toContain(response.body.key);
      const [, rotated] = await service.findEvents(id, 2);
      expect(rotated).toMatchObject({
        type: 'api_key.rotated',
        orgId,
        data: { apiKeyId: id, keyPrefix: response.body.keyPrefix },
      });
      expect(JSON.stringify(rotated)).not.toContain(response.body.key);
    });

    it('does not count uses of the old key for the new one', async () => {
      const { id } = await create();
      await rotate(id).expect(200);
      await use(id, 1, 5);
      await use(id, 2, 3);
      expect((await ours.get(`/api-keys/${id}`)).body.usageCount).toBe(3);
      expect((await ours.get(`/api-keys/${id}/usage?days=1`)).body.total).toBe(8);
    });

    it('leaves one working key after twenty concurrent rotations', async () => {
      const { id } = await create();
      const responses = await Promise.all(Array.from({ length: 20 }, () => rotate(id)));
      expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
      const live = await Promise.all(responses.map(({ body }) => resolve(body.key as string)));
      expect(live.filter((record) => record?.status === 'active')).toHaveLength(1);
    });

    describe('with an overlap', () => {
      it('accepts both keys until it ends', async () => {
        const { id, key } = await create();
        const { body } = await rotate(id, { overlapSeconds: 60 });
        const [old, fresh] = [await resolve(key), await resolve(body.key as string)];
        expect([old?.keyId, fresh?.keyId, old?.status, fresh?.status]).toEqual([id, id, 'active', 'active']);
        expect([old?.expiresAt, fresh?.expiresAt]).toEqual([body.previousKeyValidUntil, null]);
        await service.admin.query(`UPDATE api_key SET previous_valid_until = now() WHERE id = $1`, [id]);
        expect(await resolve(key)).toBeNull();
        expect((await ours.get(`/api-keys/${id}`)).body.previousKeyValidUntil).toBeNull();
        await service.app.get(ApiKeyExpiryService).expireAll();
        const { rows } = await service.admin.query('SELECT previous_key_hash FROM api_key WHERE id = $1', [id]);
        expect(rows).toEqual([{ previous_key_hash: null }]);
      });

      it('ends the key before the previous one at once', async () => {
        const { id, key } = await create();
        const second = (await rotate(id, { overlapSeconds: 3_600 })).body.key as string;
        await rotate(id, { overlapSeconds: 3_600 }).expect(200);
        expect(await resolve(key)).toBeNull();
        expect((await resolve(second))?.status).toBe('active');
      });

      it('ends both when the key is revoked', async () => {
        const { id, key } = await create();
        const { body } = await rotate(id, { overlapSeconds: 3_600 });
        await ours.delete(`/api-keys/${id}`).expect(200);
        expect([await resolve(key), (await resolve(body.key as string))?.status]).toEqual([null, 'revoked']);
        const { keyHashes } = await service.findBroadcast(id, 'revoked');
        expect([...keyHashes].sort()).toEqual(
          [key, body.key as string].map((each) => hashKey(each).toString('hex')).sort(),
        );
      });

      it('ends with the key itself', async () => {
        const expiresAt = new Date(Date.now() + 60_000).toISOString();
        const { id, key } = await create({ expiresAt });
        await rotate(id, { overlapSeconds: 3_600 }).expect(200);
        expect((await resolve(key))?.expiresAt).toBe(expiresAt);
      });

      it.each([-1, 86_401, '60', 1.5, null])('refuses %p', async (overlapSeconds) => {
        const { id } = await create();
        const response = await rotate(id, { overlapSeconds });
        expect([response.status, Object.keys(response.body.details.fieldErrors)]).toEqual([400, ['overlapSeconds']]);
      });
    });

    describe('requires', () => {
      const manage: Permission[] = ['organizations:read', 'organizations:write'];

      it('the permissions of every scope', async () => {
        const { id } = await create({ scopes: ['devices:read', 'ai:execute'] });
        const enough: Permission[] = [...manage, 'devices:read', 'devices:execute', 'scripts:execute'];
        const less = await service.as({ partnerId, permissions: enough.filter((each) => each !== 'scripts:execute') });
        const refused = await rotate(id, {}, less);
        expect([refused.status, refused.body.code, refused.body.required]).toEqual([
          403,
          'permission_not_delegable',
          ['scripts:execute'],
        ]);
        expect((await rotate(id, {}, await service.as({ partnerId, permissions: enough }))).status).toBe(200);
      });

      it('access to the sites of its creator', async () => {
        const [a, b] = [randomUUID(), randomUUID()];
        const member = (siteIds: string[] | null) => service.as({ scope: 'organization', partnerId, orgId, siteIds });
        const restricted = await member([a]);
        const [own, wide, free] = [
          await create({}, restricted),
          await create({}, await member([a, b])),
          await create({}, await member(null)),
        ];
        expect((await rotate(own.id, {}, restricted)).status).toBe(200);
        expect((await rotate(own.id, {}, await member([b, a]))).status).toBe(200);
        for (const { id } of [wide, free]) {
          const response = await rotate(id, {}, restricted);
          expect([response.status, response.body.code]).toEqual([403, 'permission_not_delegable']);
        }
        expect((await rotate(wide.id)).status).toBe(200);
      });

      it('a known creator', async () => {
        const { id } = await create();
        await service.admin.query('UPDATE api_key SET created_by = $2 WHERE id = $1', [id, randomUUID()]);
        const response = await rotate(id);
        expect([response.status, response.body.code]).toEqual([403, 'permission_not_delegable']);
      });
    });
  });

  describe('patch', () => {
    it('changes name, scopes, limit and addresses, and publishes the change', async () => {
      const { id, key } = await create();
      const patch = { name: 'New', scopes: ['scripts:read'], rateLimit: 5, sourceCidrs: ['203.0.113.0/24'] };
      const response = await ours.patch(`/api-keys/${id}`, { ...patch, expiryReminders: false });
      expect([response.status, response.body]).toMatchObject([200, { id, ...patch, expiryReminders: false }]);
      expect(await resolve(key)).toMatchObject({
        scopes: ['scripts:read'],
        rateLimit: 5,
        sourceCidrs: ['203.0.113.0/24'],
      });
      await service.findBroadcast(id, 'updated');
      expect(await service.findAuditEntry('api_key.update', id)).toMatchObject({
        details: { previousScopes: ['devices:read'] },
      });
      const [, updated] = await service.findEvents(id, 2);
      expect(updated).toMatchObject({ type: 'api_key.updated', orgId, data: { apiKeyId: id, name: 'New' } });
      expect(updated.data).toMatchObject({
        scopes: ['scripts:read'],
        fields: ['expiryReminders', 'name', 'rateLimit', 'scopes', 'sourceCidrs'],
      });
    });

    it('sets, keeps and clears the description', async () => {
      const { id } = await create({ description: 'Opens tickets' });
      const patched = async (body: object) => (await ours.patch(`/api-keys/${id}`, body)).body.description as unknown;
      expect(await patched({ rateLimit: 7 })).toBe('Opens tickets');
      expect(await patched({ description: 'Closes tickets' })).toBe('Closes tickets');
      expect(await patched({ description: null })).toBeNull();
    });

    it('keeps absent fields', async () => {
      const { id } = await create({ rateLimit: 77, sourceCidrs: ['10.0.0.0/8'] });
      const response = await ours.patch(`/api-keys/${id}`, { name: 'Only the name' });
      expect(response.body).toMatchObject({ rateLimit: 77, scopes: ['devices:read'], sourceCidrs: ['10.0.0.0/8'] });
    });

    it.each([
      ['nothing', {}],
      ['null', { name: null }],
      ['an expiry in the past', { expiresAt: inMs(-1_000) }],
      ['a status', { status: 'active' }],
      ['another organization', { orgId: randomUUID() }],
      ['a limit too high', { rateLimit: 1_000_000 }],
    ])('refuses %s', async (_, body) => {
      const { id } = await create();
      const response = await ours.patch(`/api-keys/${id}`, body);
      expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
    });

    it('sets an earlier or later expiry, and none', async () => {
      const { id, key } = await create({ expiresAt: inMs(3_600_000) });
      for (const expiresAt of [inMs(60_000), inMs(7_200_000), null]) {
        const response = await ours.patch(`/api-keys/${id}`, { expiresAt });
        expect([response.status, response.body.expiresAt]).toEqual([200, expiresAt]);
        expect((await resolve(key))?.expiresAt).toBe(expiresAt);
      }
    });

    it.each([
      ['a later expiry', { expiresAt: inMs(7_200_000) }],
      ['no expiry', { expiresAt: null }],
      ['other addresses', { sourceCidrs: ['192.0.2.0/24'] }],
      ['any address', { sourceCidrs: [] }],
      ['a higher rate limit', { rateLimit: 11 }],
    ])('requires every permission of the key for %s', async (_, more) => {
      const { id } = await create({ expiresAt: inMs(3_600_000), sourceCidrs: ['10.0.0.0/8'], rateLimit: 10 });
      const client = await service.as({ partnerId, permissions: ['organizations:read', 'organizations:write'] });
      const refused = await client.patch(`/api-keys/${id}`, more);
      expect([refused.status, refused.body.code, refused.body.required]).toEqual([
        403,
        'permission_not_delegable',
        ['devices:read'],
      ]);
      const less = { expiresAt: inMs(60_000), sourceCidrs: ['10.0.0.0/8'], rateLimit: 9, name: 'Less' };
      expect((await client.patch(`/api-keys/${id}`, less)).status).toBe(200);
    });

    it('refuses a scope whose permissions the creator of the key lacks, and keeps the key working', async () => {
      const permissions: Permission[] = ['organizations:read', 'organizations:write', 'devices:read'];
      const creator = await service.as({ partnerId, permissions });
      const { id, key } = await create({}, creator);
      const response = await ours.patch(`/api-keys/${id}`, { scopes: ['devices:read', 'scripts:write'] });
      expect([response.status, response.body.code, response.body.required]).toEqual([
        403,
        'permission_not_delegable',
        ['scripts:write'],
      ]);
      expect(response.body.message).toContain('creator of this key');
      expect(await resolve(key)).toMatchObject({ status: 'active', scopes: ['devices:read'] });
    });

    it('requires the permissions of added scopes only', async () => {
      const { id } = await create({ scopes: ['devices:write', 'scripts:read'] });
      const permissions: Permission[] = ['organizations:read', 'organizations:write', 'devices:read'];
      const client = await service.as({ partnerId, permissions });
      const kept = await client.patch(`/api-keys/${id}`, { scopes: ['devices:write', 'devices:read'] });
      expect([kept.status, kept.body.scopes]).toEqual([200, ['devices:write', 'devices:read']]);
      const widened = await client.patch(`/api-keys/${id}`, { scopes: ['devices:write', 'scripts:write'] });
      expect([widened.status, widened.body.code, widened.body.required]).toEqual([
        403,
        'permission_not_delegable',
        ['scripts:write'],
      ]);
      expect((await ours.patch(`/api-keys/${id}`, { scopes: ['*'] })).body.code).toBe('wildcard_scope_unsupported');
      expect((await ours.patch(`/api-keys/${id}`, { scopes: ['x'] })).body.code).toBe('unsupported_scope');
    });
  });

  describe('a caller restricted to sites or groups', () => {
    const [site, group] = [randomUUID(), randomUUID()];
    const calls = {
      patch: (client: typeof ours, id: string) => client.patch(`/api-keys/${id}`, { name: 'New' }),
      usage: (client: typeof ours, id: string) => client.get(`/api-keys/${id}/usage`),
      delete: (client: typeof ours, id: string) => client.delete(`/api-keys/${id}`),
    };
    const member = (restriction: { siteIds?: string[]; deviceGroupIds?: string[] }) =>
      service.as({ scope: 'organization', partnerId, orgId, ...restriction });

    it.each(['patch', 'usage', 'delete'] as const)('is refused %s of a key with access to more sites', async (call) => {
      const { id } = await create();
      for (const restriction of [{ siteIds: [site] }, { deviceGroupIds: [group] }]) {
        const response = await calls[call](await member(restriction), id);
        expect([response.status, response.body.code]).toEqual([403, 'site_access_denied']);
      }
    });

    it.each(['patch', 'usage', 'delete'] as const)('is allowed %s of a key of the same sites', async (call) => {
      const client = await member({ siteIds: [site] });
      const { id } = await create({}, client);
      expect((await calls[call](await member({ siteIds: [site, randomUUID()] }), id)).status).toBe(200);
    });

    it.each(['patch', 'usage', 'delete'] as const)('is refused %s of a key of a service principal', async (call) => {
      const principal = { orgId, name: 'Robot', scopes: ['devices:read'] };
      const { apiKeyId } = (await ours.post('/service-principals', principal).expect(201)).body as { apiKeyId: string };
      const response = await calls[call](await member({ siteIds: [site] }), apiKeyId);
      expect([response.status, response.body.code]).toEqual([403, 'site_restricted']);
    });
  });

  describe('a key that is not active', () => {
    it.each([
      ['revoked', async (id: string) => void (await ours.delete(`/api-keys/${id}`))],
      ['expired', async (id: string) => void (await age(id, `expires_at = now() - interval '1 second'`))],
    ])('%s can be neither changed nor rotated', async (_, end) => {
      const { id } = await create();
      await end(id);
      for (const response of [
        await ours.patch(`/api-keys/${id}`, { name: 'x' }),
        await ours.post(`/api-keys/${id}/rotate`),
      ]) {
        expect([response.status, response.body.code]).toEqual([400, 'api_key_not_active']);
        expect(response.body.error).toBe('Only active API keys may be updated or rotated');
      }
    });

    it('can be revoked once, also when it has expired', async () => {
      const { id, key } = await create();
      await age(id, `expires_at = now() - interval '1 second'`);
      const response = await ours.delete(`/api-keys/${id}`);
      expect([response.status, response.body]).toMatchObject([
        200,
        { success: true, apiKey: { id, status: 'revoked' } },
      ]);
      const again = await ours.delete(`/api-keys/${id}`);
      expect([again.status, again.body.code]).toEqual([400, 'api_key_already_revoked']);
      expect(await statusOf(key)).toBe('revoked');
      await service.findBroadcast(id, 'revoked');
    });

    it('is revoked once by five concurrent calls', async () => {
      const { id } = await create();
      const responses = await Promise.all(Array.from({ length: 5 }, () => ours.delete(`/api-keys/${id}`)));
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400]);
      const after = await create();
      await Promise.all([service.findEvents(id, 2), service.findEvents(after.id, 1)]);
      const [, ...revoked] = await service.findEvents(id, 2);
      expect(revoked).toMatchObject([{ type: 'api_key.revoked', orgId, data: { apiKeyId: id, name: 'Reports' } }]);
    });
  });
});
