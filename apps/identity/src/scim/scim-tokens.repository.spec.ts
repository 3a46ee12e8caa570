import type { ScimCaller } from '@rmm/access';
import { hashKey } from '@rmm/secrets';
import { IdentityTestDatabase } from '../../test/identity-test-database.js';
import { createScimCaller, ownedBy } from '../../test/scim-rows.js';
import { ScimTokensRepository } from './scim-tokens.repository.js';

describe('ScimTokensRepository', () => {
  let database: IdentityTestDatabase;
  let repository: ScimTokensRepository;
  let count = 0;

  beforeAll(async () => {
    database = await IdentityTestDatabase.start();
    repository = new ScimTokensRepository(database.tenants, database.worker);
  });
  afterAll(() => database.stop());

  const create = async (caller: ScimCaller, values: Record<string, unknown> = {}) => {
    const hash = hashKey(`token ${++count}`);
    const token = { name: 'Entra ID', token_prefix: 'scim_', token_hash: hash, ...ownedBy(caller), ...values };
    return { id: await database.insert('scim_token', token), hash };
  };

  it('finds a token by its hash with its organization, until it expires', async () => {
    const caller = await createScimCaller(database);
    const { providerId, partnerId, orgId } = caller;
    const { id: tokenId, hash } = await create(caller, { expires_at: new Date(Date.now() + 3_600_000) });
    const found = { tokenId, providerId, partnerId, orgId, tenantActive: true };
    expect(await repository.findByHash(hash)).toEqual(found);
    expect(await repository.findByHash(hashKey('another'))).toBeNull();
    await database.query(`UPDATE scim_token SET expires_at = now() - interval '1 second' WHERE id = $1`, [tokenId]);
    expect(await repository.findByHash(hash)).toBeNull();
  });

  it.each([
    ['the organization is suspended', { status: 'suspended' }, 'active'],
    ['the organization is deleted', { deleted: true }, 'active'],
    ['the partner is suspended', {}, 'suspended'],
  ])('says that the tenant is not active when %s', async (_, organization, status) => {
    const partnerId = await database.createPartner({ status });
    const orgId = await database.createOrganization(partnerId, organization);
    const { hash } = await create(await createScimCaller(database, partnerId, orgId));
    expect(await repository.findByHash(hash)).toMatchObject({ tenantActive: false });
  });

  it('notes the use of a token once a minute', async () => {
    const { id, hash } = await create(await createScimCaller(database));
    const usedAt = async () =>
      (await database.query<{ at: Date | null }>('SELECT last_used_at AS at FROM scim_token WHERE id = $1', [id]))[0]
        .at;
    await repository.findByHash(hash);
    const first = await usedAt();
    expect(first).toBeInstanceOf(Date);
    await repository.findByHash(hash);
    expect(await usedAt()).toEqual(first);
    await database.query(`UPDATE scim_token SET last_used_at = now() - interval '61 seconds' WHERE id = $1`, [id]);
    await repository.findByHash(hash);
    expect((await usedAt())?.getTime()).toBeGreaterThanOrEqual(first?.getTime() ?? Infinity);
  });

  it('counts the valid tokens of a provider', async () => {
    const caller = await createScimCaller(database);
    await create(caller);
    await create(caller, { expires_at: new Date(Date.now() - 1_000) });
    await create(await createScimCaller(database, caller.partnerId, caller.orgId));
    expect(await repository.countValid(caller, caller.providerId)).toBe(1);
    expect(await repository.countValid(await createScimCaller(database), caller.providerId)).toBe(0);
  });
});
