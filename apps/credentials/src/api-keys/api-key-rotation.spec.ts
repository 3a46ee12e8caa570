import { randomUUID } from 'node:crypto';
import { CREDENTIALS_KEYS_RECORD_USAGE, CREDENTIALS_KEYS_RESOLVE, type ResolvedApiKey } from '@rmm/contracts';
import { hashKey } from '@rmm/secrets';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';
import { ApiKeyExpiryService } from './api-key-expiry.service.js';

describe('rotation of an API key', () => {
  let service: CredentialsTestApp;
  let partnerId: string;
  let orgId: string;
  let ours: Awaited<ReturnType<CredentialsTestApp['as']>>;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    partnerId = await service.createPartner();
    orgId = await service.createOrganization(partnerId);
    ours = await service.as({ partnerId });
  }, 60_000);
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
  });

  it('does not count uses of the old key for the new one', async () => {
    const { id } = await create();
    await rotate(id).expect(200);
    await use(id, 1, 5);
    await use(id, 2, 3);
    expect((await ours.get(`/api-keys/${id}`)).body.usageCount).toBe(3);
    expect((await ours.get(`/api-keys/${id}/usage?days=1`)).body.total).toBe(8);
  });

  it('leaves one working key after ten concurrent rotations', async () => {
    const { id } = await create();
    const responses = await Promise.all(Array.from({ length: 10 }, () => rotate(id)));
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
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
    const manage = ['organizations:read', 'organizations:write'];

    it('the permissions of every scope', async () => {
      const { id } = await create({ scopes: ['devices:read', 'ai:execute'] });
      const enough = [...manage, 'devices:read', 'devices:execute', 'scripts:execute'];
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
