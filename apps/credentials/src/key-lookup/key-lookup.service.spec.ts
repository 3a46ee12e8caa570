import { randomUUID } from 'node:crypto';
import { CREDENTIALS_KEYS_RESOLVE, type AccessSnapshot, type ResolvedApiKey } from '@rmm/contracts';
import { hashKey, mintApiKey } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';
import { ApiKeyExpiryService } from '../api-keys/api-key-expiry.service.js';

describe('KeyLookupService', () => {
  let service: CredentialsTestApp;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ({ partnerId, orgId } = await service.createTenant());
  });
  afterAll(() => service?.stop());

  type FakeUser = Parameters<CredentialsTestApp['as']>[0];
  const resolve = (key: string) =>
    service.request(CREDENTIALS_KEYS_RESOLVE, {
      keyHash: hashKey(key).toString('hex'),
    }) as Promise<ResolvedApiKey | null>;
  const statusOf = async (key: string) => (await resolve(key))?.status;

  /** Creates a key and returns it with its creator. */
  async function created(by: FakeUser = {}, more: object = {}) {
    const client = await service.as({ partnerId, ...by });
    const body = { orgId, name: 'Reports', scopes: ['devices:read', 'scripts:read'], ...more };
    const { id, key } = (await client.post('/api-keys', body).expect(201)).body as { id: string; key: string };
    return { id, key, userId: service.identity.userIdOf(client.token) };
  }

  it('returns null for an unknown hash and refuses a value that is no hash', async () => {
    expect(await resolve(mintApiKey().key)).toBeNull();
    const malformed = service.request(CREDENTIALS_KEYS_RESOLVE, { keyHash: "' OR 1=1" });
    await expect(malformed).rejects.toThrow('validation_failed');
  });

  it.each<[string, Partial<AccessSnapshot>]>([
    ['is disabled', { userStatus: 'disabled' }],
    ['is invited again', { userStatus: 'invited' }],
    ['left', { membershipExists: false }],
    ['has access to other organizations only', { orgAccess: 'selected', orgIds: [randomUUID()] }],
    ['has no access', { orgAccess: 'none' }],
    ['lost the permission of one scope', { permissions: ['organizations:write', 'devices:read'] }],
    ['lost every permission', { permissions: [] }],
  ])('reports a key as unauthorized when its creator %s, and as active when that is undone', async (_, change) => {
    const { key, userId } = await created();
    expect(await statusOf(key)).toBe('active');
    service.identity.change(userId, change);
    expect(await statusOf(key)).toBe('unauthorized');
    const back = { userStatus: 'active', membershipExists: true, orgAccess: 'all', orgIds: [], permissions: ['*:*'] };
    service.identity.change(userId, back as Partial<AccessSnapshot>);
    expect(await statusOf(key)).toBe('active');
  });

  it('requires no permission of the creator of a key without scopes', async () => {
    const { key, userId } = await created({}, { scopes: [] });
    service.identity.change(userId, { permissions: [] });
    expect(await statusOf(key)).toBe('active');
    service.identity.change(userId, { orgAccess: 'none' });
    expect(await statusOf(key)).toBe('unauthorized');
  });

  it('restricts a key to the sites and groups of its creator', async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    const { key, userId } = await created({ scope: 'organization', orgId, siteIds: [a] });
    expect(await resolve(key)).toMatchObject({ siteIds: [a], deviceGroupIds: null });
    service.identity.change(userId, { siteIds: [b] });
    expect(await resolve(key)).toMatchObject({ siteIds: [b] });
  });

  it('ignores stored wildcard scopes', async () => {
    const { id, key } = await created();
    await service.admin.query(`UPDATE api_key SET scopes = '{*,devices:*,devices:read}' WHERE id = $1`, [id]);
    expect(await resolve(key)).toMatchObject({ status: 'active', scopes: ['devices:read'] });
  });

  it('stores that a key has expired, once for concurrent uses', async () => {
    const { id, key } = await created();
    await service.admin.query(`UPDATE api_key SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);
    const statuses = await Promise.all(Array.from({ length: 10 }, () => statusOf(key)));
    expect(new Set(statuses)).toEqual(new Set(['expired']));
    const { rows } = await service.admin.query('SELECT status FROM api_key WHERE id = $1', [id]);
    expect(rows).toEqual([{ status: 'expired' }]);
    await service.findBroadcast(id, 'expired');
    await service.findAuditEntry('api_key.expire', id);
    const rowsOf = service.received.filter(
      ({ type, data }) => type === 'api_key.expire' && (data as { resourceId: string }).resourceId === id,
    );
    expect(rowsOf).toHaveLength(1);
  });

  it('marks expired keys that are not used', async () => {
    const { id } = await created();
    const live = await created();
    await service.admin.query(`UPDATE api_key SET expires_at = now() WHERE id = $1`, [id]);
    await service.app.get(ApiKeyExpiryService).expireAll();
    const { rows } = await service.admin.query('SELECT id, status FROM api_key WHERE id = ANY ($1) ORDER BY status', [
      [id, live.id],
    ]);
    expect(rows).toEqual([
      { id: live.id, status: 'active' },
      { id, status: 'expired' },
    ]);
    await service.findBroadcast(id, 'expired');
  });

  it.each(['suspended', 'churned', 'offboarding'] as const)(
    'reports keys of a %s organization as unauthorized and publishes it',
    async (status) => {
      const own = await service.createOrganization(partnerId);
      const { key } = await created({}, { orgId: own });
      const publish = (version: number, to: 'active' | typeof status) =>
        service.publishOrganization('organization.updated', { orgId: own, partnerId, version, status: to });
      await publish(2, status);
      expect(await statusOf(key)).toBe('unauthorized');
      await eventually(() => {
        expect(service.broadcasts).toContainEqual(expect.objectContaining({ reason: 'tenant_changed', orgIds: [own] }));
      });
      await publish(3, 'active');
      expect(await statusOf(key)).toBe('active');
    },
  );

  it('reports keys of a deleted organization as unauthorized', async () => {
    const own = await service.createOrganization(partnerId);
    const { key } = await created({}, { orgId: own });
    await service.publishOrganization('organization.deleted', { orgId: own, partnerId, version: 2, deleted: true });
    expect(await statusOf(key)).toBe('unauthorized');
  });

  it('reports keys of a suspended partner as unauthorized and publishes it', async () => {
    const partner = await service.createPartner();
    const own = await service.createOrganization(partner);
    const { key } = await created({ partnerId: partner }, { orgId: own });
    await service.publishPartner('partner.updated', { partnerId: partner, version: 2, status: 'suspended' });
    expect(await statusOf(key)).toBe('unauthorized');
    await eventually(() => {
      expect(service.broadcasts).toContainEqual(
        expect.objectContaining({ reason: 'tenant_changed', partnerIds: [partner] }),
      );
    });
  });

  it('drops the keys of a tenant from every cache when its change is broadcast, without an event', async () => {
    service.identity.publishAccessChanged({ partnerIds: [partnerId], reason: 'partner is suspended' });
    await eventually(() => {
      expect(service.broadcasts).toContainEqual(
        expect.objectContaining({ reason: 'tenant_changed', partnerIds: [partnerId] }),
      );
    });
  });

  it('reads the partner from identity once its change is broadcast, before the event arrives', async () => {
    const partner = await service.createPartner();
    const own = await service.createOrganization(partner);
    const { key } = await created({ partnerId: partner }, { orgId: own });
    expect(await statusOf(key)).toBe('active');
    service.identity.addPartner({ partnerId: partner, status: 'suspended', version: 2 });
    service.identity.publishAccessChanged({ partnerIds: [partner], reason: 'partner is suspended' });
    await eventually(async () => expect(await statusOf(key)).toBe('unauthorized'), { timeoutMs: 10_000 });
  });
});
