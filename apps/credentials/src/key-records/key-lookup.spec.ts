import { CREDENTIALS_KEYS_RESOLVE, type AccessSnapshot, type ResolvedApiKey } from '@rmm/contracts';
import { hashKey, mintApiKey } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import { randomUUID } from 'node:crypto';
import { CredentialsUnderTest } from '../../test/credentials-under-test.js';
import { ApiKeyExpiry } from '../api-keys/api-key-expiry.js';

describe('the look-up of a key', () => {
  let service: CredentialsUnderTest;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    service = await CredentialsUnderTest.start();
    partnerId = await service.partner();
    orgId = await service.organization(partnerId);
  }, 60_000);
  afterAll(() => service?.stop());

  type Person = Parameters<CredentialsUnderTest['as']>[0];
  const resolve = (key: string) =>
    service.ask(CREDENTIALS_KEYS_RESOLVE, { keyHash: hashKey(key).toString('hex') }) as Promise<ResolvedApiKey | null>;
  const statusOf = async (key: string) => (await resolve(key))?.status;

  /** A key, and the person who made it. */
  async function made(by: Person = {}, more: object = {}) {
    const client = await service.as({ partnerId, ...by });
    const body = { orgId, name: 'Reports', scopes: ['devices:read', 'scripts:read'], ...more };
    const { id, key } = (await client.post('/api-keys', body).expect(201)).body as { id: string; key: string };
    return { id, key, userId: service.identity.userIdOf(client.token) };
  }

  it('returns null for an unknown hash and refuses a text that is no hash', async () => {
    expect(await resolve(mintApiKey().key)).toBeNull();
    const refused = service.ask(CREDENTIALS_KEYS_RESOLVE, { keyHash: "' OR 1=1" });
    await expect(refused).rejects.toMatchObject({ code: 'validation_failed' });
  });

  it.each<[string, Partial<AccessSnapshot>]>([
    ['is disabled', { userStatus: 'disabled' }],
    ['is only invited again', { userStatus: 'invited' }],
    ['left', { membershipExists: false }],
    ['reaches other organizations only', { orgAccess: 'selected', orgIds: [randomUUID()] }],
    ['reaches none', { orgAccess: 'none' }],
    ['lost what one scope needs, though not the other', { permissions: ['organizations:write', 'devices:read'] }],
    ['lost everything', { permissions: [] }],
  ])('lets a key die when its creator %s, and live again when that is undone', async (_, change) => {
    const { key, userId } = await made();
    expect(await statusOf(key)).toBe('active');
    service.identity.change(userId, change);
    expect(await statusOf(key)).toBe('unauthorized');
    const back = { userStatus: 'active', membershipExists: true, orgAccess: 'all', orgIds: [], permissions: ['*:*'] };
    service.identity.change(userId, back as Partial<AccessSnapshot>);
    expect(await statusOf(key)).toBe('active');
  });

  it('asks a creator for nothing beyond the organization where the key may do nothing', async () => {
    const { key, userId } = await made({}, { scopes: [] });
    service.identity.change(userId, { permissions: [] });
    expect(await statusOf(key)).toBe('active');
    service.identity.change(userId, { orgAccess: 'none' });
    expect(await statusOf(key)).toBe('unauthorized');
  });

  it('confines a key as its creator is confined now', async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    const { key, userId } = await made({ scope: 'organization', orgId, siteIds: [a] });
    expect(await resolve(key)).toMatchObject({ siteIds: [a], deviceGroupIds: null });
    service.identity.change(userId, { siteIds: [b] });
    expect(await resolve(key)).toMatchObject({ siteIds: [b] });
  });

  it('counts stored wildcards for nothing', async () => {
    const { id, key } = await made();
    await service.admin.query(`UPDATE api_key SET scopes = '{*,devices:*,devices:read}' WHERE id = $1`, [id]);
    expect(await resolve(key)).toMatchObject({ status: 'active', scopes: ['devices:read'] });
  });

  it('stores that a key has expired, once however many use it', async () => {
    const { id, key } = await made();
    await service.admin.query(`UPDATE api_key SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);
    const statuses = await Promise.all(Array.from({ length: 10 }, () => statusOf(key)));
    expect(new Set(statuses)).toEqual(new Set(['expired']));
    const { rows } = await service.admin.query('SELECT status FROM api_key WHERE id = $1', [id]);
    expect(rows).toEqual([{ status: 'expired' }]);
    await service.announces(id, 'expired');
    await service.audited('api_key.expire', id);
    const rowsOf = service.heard.filter(
      ({ type, data }) => type === 'api_key.expire' && (data as { resourceId: string }).resourceId === id,
    );
    expect(rowsOf).toHaveLength(1);
  });

  it('finds what expired unused by a sweep', async () => {
    const { id } = await made();
    const live = await made();
    await service.admin.query(`UPDATE api_key SET expires_at = now() WHERE id = $1`, [id]);
    await service.app.get(ApiKeyExpiry).run();
    const { rows } = await service.admin.query('SELECT id, status FROM api_key WHERE id = ANY ($1) ORDER BY status', [
      [id, live.id],
    ]);
    expect(rows).toEqual([
      { id: live.id, status: 'active' },
      { id, status: 'expired' },
    ]);
    await service.announces(id, 'expired');
  });

  it.each(['suspended', 'churned', 'offboarding'] as const)(
    'lets the keys of a %s organization rest, and says so',
    async (status) => {
      const own = await service.organization(partnerId);
      const { key } = await made({}, { orgId: own });
      const tell = (version: number, to: 'active' | typeof status) =>
        service.organizationFact('organization.updated', { orgId: own, partnerId, version, status: to });
      await tell(2, status);
      expect(await statusOf(key)).toBe('unauthorized');
      await eventually(() => {
        expect(service.announced).toContainEqual(expect.objectContaining({ reason: 'tenant_changed', orgIds: [own] }));
      });
      await tell(3, 'active');
      expect(await statusOf(key)).toBe('active');
    },
  );

  it('lets the keys of a deleted organization rest', async () => {
    const own = await service.organization(partnerId);
    const { key } = await made({}, { orgId: own });
    await service.organizationFact('organization.deleted', { orgId: own, partnerId, version: 2, deleted: true });
    expect(await statusOf(key)).toBe('unauthorized');
  });

  it('lets the keys of a suspended partner rest, and says so', async () => {
    const partner = await service.partner();
    const own = await service.organization(partner);
    const { key } = await made({ partnerId: partner }, { orgId: own });
    await service.partnerFact('partner.updated', { partnerId: partner, version: 2, status: 'suspended' });
    expect(await statusOf(key)).toBe('unauthorized');
    await eventually(() => {
      expect(service.announced).toContainEqual(
        expect.objectContaining({ reason: 'tenant_changed', partnerIds: [partner] }),
      );
    });
  });
});
