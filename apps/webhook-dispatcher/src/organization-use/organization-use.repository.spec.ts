import { randomUUID } from 'node:crypto';
import type { OrganizationsInUseRequest } from '@rmm/contracts';
import { DispatcherTestDatabase } from '../../test/dispatcher-test-database.js';
import { organizationCaller } from '../../test/organizations.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';
import { OrganizationUseRepository } from './organization-use.repository.js';

describe('OrganizationUseRepository', () => {
  let database: DispatcherTestDatabase;
  let repository: OrganizationUseRepository;

  beforeAll(async () => {
    database = await DispatcherTestDatabase.start();
    repository = new OrganizationUseRepository(database.tenants);
  }, 120_000);
  afterAll(() => database?.stop());

  const callerOf = (partnerId: string, changes: object = {}) =>
    ({
      ...{ kind: 'user', userId: randomUUID(), sessionId: randomUUID() },
      tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], ...changes },
    }) as unknown as OrganizationsInUseRequest['caller'];

  it('finds organizations with webhooks, for callers who may see them', async () => {
    const [used, unused] = [await database.organization(), await database.organization()];
    const { partnerId } = used;
    await database.tenants.transaction(organizationCaller(used), (tx) =>
      new WebhooksRepository(database.tenants).create(tx, {
        ...{ id: randomUUID(), ...used, createdBy: null, name: 'Hook', urlSealed: 'sealed', events: ['device.*'] },
      }),
    );
    const orgIds = [unused.orgId, used.orgId];
    expect(await repository.listUsed({ caller: callerOf(partnerId), partnerId, orgIds })).toEqual([used.orgId]);
    const stranger = callerOf(unused.partnerId);
    expect(await repository.listUsed({ caller: stranger, partnerId, orgIds })).toEqual([]);
    expect(await repository.listUsed({ caller: callerOf(partnerId), partnerId: randomUUID(), orgIds })).toEqual([]);
    const restricted = callerOf(partnerId, { orgAccess: 'selected', orgIds: [randomUUID()] });
    expect(await repository.listUsed({ caller: restricted, partnerId, orgIds })).toEqual([]);
  });
});
