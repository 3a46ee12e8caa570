import { randomUUID } from 'node:crypto';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { ServicePrincipalNotFound } from './service-principal.errors.js';
import { ServicePrincipalsRepository } from './service-principals.repository.js';

describe('ServicePrincipalsRepository', () => {
  let opened: CredentialsTestDatabase;
  let repository: ServicePrincipalsRepository;
  const [partnerId, orgId, createdBy] = [randomUUID(), randomUUID(), randomUUID()];
  const caller = buildPartnerCaller(partnerId);

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    await opened.createOrganization(partnerId, { orgId });
    repository = new ServicePrincipalsRepository(opened.tenants);
  });
  afterAll(() => opened.stop());

  const create = () =>
    opened.tenants.transaction(caller, (tx) =>
      repository.create(tx, { partnerId, orgId, name: 'Relay', scopes: [], createdBy }),
    );

  it('stores the creator as the last user who changed it', async () => {
    expect(await create()).toMatchObject({ status: 'active', createdBy, lastUpdatedBy: createdBy });
  });

  it('throws ServicePrincipalNotFound for a principal of another tenant', async () => {
    const { id } = await create();
    await expect(repository.get(buildPartnerCaller(randomUUID()), id)).rejects.toThrow(ServicePrincipalNotFound);
  });

  it('stores and filters by status', async () => {
    const { id } = await create();
    const userId = randomUUID();
    await opened.tenants.transaction(caller, (tx) => repository.setStatus(tx, id, userId, 'disabled'));
    const { rows, total } = await repository.list(caller, { status: 'disabled', page: 1, limit: 10 });
    expect([rows, total]).toMatchObject([[{ id, status: 'disabled', lastUpdatedBy: userId }], 1]);
  });
});
