import { randomBytes, randomUUID } from 'node:crypto';
import type { TenantTransaction } from '@rmm/persistence';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { PrincipalKeysRepository } from './principal-keys.repository.js';
import { ServicePrincipalsRepository } from './service-principals.repository.js';

describe('PrincipalKeysRepository', () => {
  let opened: CredentialsTestDatabase;
  let keys: PrincipalKeysRepository;
  const [partnerId, orgId] = [randomUUID(), randomUUID()];
  const caller = buildPartnerCaller(partnerId);
  const within = <T>(work: (tx: TenantTransaction) => Promise<T>) => opened.tenants.transaction(caller, work);

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    await opened.createOrganization(partnerId, { orgId });
    keys = new PrincipalKeysRepository(opened.tenants);
  });
  afterAll(() => opened.stop());

  const createPrincipal = () =>
    within((tx) =>
      new ServicePrincipalsRepository(opened.tenants).create(tx, {
        partnerId,
        orgId,
        name: 'Robot',
        scopes: [],
        createdBy: caller.userId,
      }),
    );
  const createKey = (more: object = {}) => {
    const key = { partnerId, orgId, name: 'Key', keyPrefix: 'svc_12345678', scopes: ['devices:read'], rateLimit: 10 };
    return within((tx) => keys.create(tx, { ...key, keyHash: randomBytes(32), ...more }));
  };

  it('finds the active key of a principal, and the newest one when none is active', async () => {
    const { id: principalId } = await createPrincipal();
    const find = () => within((tx) => keys.findNewest(tx, principalId));
    expect(await find()).toBeNull();
    const active = await createKey({ principalId });
    const revoked = await createKey({ principalId, status: 'revoked' });
    expect((await find())?.id).toBe(active.id);
    await within((tx) => keys.revoke(tx, [active.id]));
    expect((await find())?.id).toBe(revoked.id);
  });

  it('locks the active keys of a principal with their hashes', async () => {
    const { id: principalId } = await createPrincipal();
    await createKey({ principalId, status: 'revoked' });
    const { id, keyHash } = await createKey({ principalId });
    expect(await within((tx) => keys.lockActive(tx, principalId))).toMatchObject([{ id, keyHash }]);
  });

  it('makes a principal the owner of a key', async () => {
    const { id: principalId } = await createPrincipal();
    const { id } = await createKey();
    const assigned = await within((tx) => keys.assign(tx, id, principalId, []));
    expect(assigned).toMatchObject({ principalId, source: 'service_principal', scopes: [] });
  });
});
