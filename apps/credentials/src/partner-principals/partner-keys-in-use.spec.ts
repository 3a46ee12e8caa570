import { CREDENTIALS_KEYS_RESOLVE, type ResolvedKey } from '@rmm/contracts';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';
import { issueKey, buildPrincipal, withHash, type Client, type IssuedKey } from '../../test/partner-principals.js';

const PATH = '/partner-service-principals';
const [SOON, LATER] = ['2998-01-01T00:00:00.000Z', '2999-01-01T00:00:00.000Z'];

describe('look-up of a partner key', () => {
  let service: CredentialsTestApp;
  let partnerId: string;
  let owner: Client;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ({ partnerId, owner } = await service.createTenant());
  }, 120_000);
  afterAll(() => service.stop());

  const resolve = ({ keyHash }: IssuedKey): Promise<ResolvedKey | null> =>
    service.request(CREDENTIALS_KEYS_RESOLVE, { keyHash });
  const age = (id: string, table: 'partner_principal' | 'partner_principal_key') =>
    service.admin.query(`UPDATE ${table} SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);

  it('returns partner, scopes, addresses and limit of its principal as they are now', async () => {
    const { id } = await buildPrincipal(owner, { scopes: ['sites:read'], sourceCidrs: ['192.0.2.0/24'] });
    const key = await issueKey(owner, id, { rateLimit: 7 });
    const named = { keyName: expect.any(String), keyPrefix: key.key.slice(0, 18), principalName: expect.any(String) };
    const known = {
      kind: 'partner_key',
      keyId: key.keyId,
      principalId: id,
      partnerId,
      rateLimit: 7,
      status: 'active',
      ...named,
    };
    expect(await resolve(key)).toMatchObject({ ...known, scopes: ['sites:read'], sourceCidrs: ['192.0.2.0/24'] });
    await owner.patch(`${PATH}/${id}`, { scopes: ['sites:write'], sourceCidrs: ['2001:db8::/32'] });
    expect(await resolve(key)).toMatchObject({ ...known, scopes: ['sites:write'], sourceCidrs: ['2001:db8::/32'] });
  });

  it('returns the earlier expiry of key and principal', async () => {
    const { id } = await buildPrincipal(owner, { expiresAt: SOON });
    const [endless, longer] = [await issueKey(owner, id), await issueKey(owner, id, { expiresAt: LATER })];
    expect((await resolve(endless))?.expiresAt).toBe(SOON);
    expect((await resolve(longer))?.expiresAt).toBe(SOON);
    await owner.patch(`${PATH}/${id}`, { expiresAt: null });
    expect((await resolve(endless))?.expiresAt).toBeNull();
    expect((await resolve(longer))?.expiresAt).toBe(LATER);
  });

  it('reports an expired key or principal', async () => {
    const principal = await buildPrincipal(owner, { expiresAt: LATER });
    const [ended, other] = [
      await issueKey(owner, principal.id, { expiresAt: LATER }),
      await issueKey(owner, principal.id),
    ];
    await age(ended.keyId, 'partner_principal_key');
    expect([(await resolve(ended))?.status, (await resolve(other))?.status]).toEqual(['expired', 'active']);
    await age(principal.id, 'partner_principal');
    expect((await resolve(other))?.status).toBe('expired');
  });

  it('returns null while the partner is suspended', async () => {
    const suspended = await service.createPartner();
    const admin = await service.as({ partnerId: suspended });
    const key = await issueKey(admin, (await buildPrincipal(admin)).id);
    expect((await resolve(key))?.status).toBe('active');
    await service.publishPartner('partner.updated', { partnerId: suspended, status: 'suspended', version: 2 });
    expect(await resolve(key)).toBeNull();
    await service.publishPartner('partner.updated', { partnerId: suspended, status: 'active', version: 3 });
    expect((await resolve(key))?.status).toBe('active');
  });

  it('stores the key nowhere and shows it in one response only', async () => {
    const { id } = await buildPrincipal(owner);
    const first = await issueKey(owner, id);
    const rotated = await owner.post(`${PATH}/${id}/keys/${first.keyId}/rotate`);
    const second = withHash(rotated.body);
    await owner.patch(`${PATH}/${id}`, { description: 'Changed' });
    await owner.delete(`${PATH}/${id}/keys/${second.keyId}`);
    await service.findAuditEntry('partner_service_principal_key.revoke', id);
    await service.findBroadcast(second.keyId, 'revoked');

    const { rows: tables } = await service.admin.query<{ name: string }>(
      `SELECT quote_ident(table_name) AS name FROM information_schema.tables
       WHERE table_schema = 'credentials' AND table_type = 'BASE TABLE'`,
    );
    expect(tables.length).toBeGreaterThan(5);
    const stored: string[] = [];
    for (const { name } of tables) {
      stored.push(JSON.stringify((await service.admin.query(`SELECT t::text FROM ${name} t`)).rows));
    }
    const responses = [await owner.get(`${PATH}/${id}`), await owner.get(`${PATH}?limit=100`)].map(({ text }) => text);
    const everything = [
      ...stored,
      ...responses,
      JSON.stringify(service.received),
      JSON.stringify(service.broadcasts),
    ].join();
    expect(everything).toContain(second.keyPrefix);
    for (const { key } of [first, second]) {
      expect(everything).not.toContain(key);
      expect(everything).not.toContain(key.slice('svc_sp_'.length + 12));
    }
  });
});
