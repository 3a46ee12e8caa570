import { randomUUID } from 'node:crypto';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { PartnerPrincipalNotFound, PrincipalNameTaken } from './partner-principal.errors.js';
import { PartnerPrincipalsRepository } from './partner-principals.repository.js';

describe('PartnerPrincipalsRepository', () => {
  let opened: CredentialsTestDatabase;
  let repository: PartnerPrincipalsRepository;
  const partnerId = randomUUID();
  const caller = buildPartnerCaller(partnerId);

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    repository = new PartnerPrincipalsRepository(opened.tenants);
  });
  afterAll(() => opened.stop());

  const create = (name: string = randomUUID()) =>
    opened.tenants.transaction(caller, (tx) =>
      repository.create(tx, {
        partnerId,
        name,
        description: null,
        scopes: ['sites:read'],
        expiresAt: null,
        sourceCidrs: [],
        createdBy: null,
      }),
    );

  it('throws PrincipalNameTaken for a name of the partner in any case', async () => {
    await create('Asset sync');
    await expect(create('ASSET SYNC')).rejects.toThrow(PrincipalNameTaken);
  });

  it('stores every field that may change', async () => {
    const before = await create();
    const changed = {
      ...before,
      name: 'New',
      description: 'd',
      status: 'disabled' as const,
      sourceCidrs: ['10.0.0.0/8'],
    };
    const after = await opened.tenants.transaction(caller, (tx) => repository.change(tx, changed));
    expect(after).toMatchObject({ name: 'New', description: 'd', status: 'disabled', sourceCidrs: ['10.0.0.0/8'] });
    expect(after.updatedAt.getTime()).toBeGreaterThanOrEqual(before.updatedAt.getTime());
  });

  it('throws PartnerPrincipalNotFound for a principal of another partner', async () => {
    const { id } = await create();
    await expect(repository.get(buildPartnerCaller(randomUUID()), id)).rejects.toThrow(PartnerPrincipalNotFound);
  });
});
