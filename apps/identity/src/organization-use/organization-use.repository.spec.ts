import { randomBytes, randomUUID } from 'node:crypto';
import type { OrganizationsInUseRequest } from '@rmm/contracts';
import { IdentityTestDatabase } from '../../test/identity-test-database.js';
import { OrganizationUseRepository } from './organization-use.repository.js';

describe('OrganizationUseRepository', () => {
  let database: IdentityTestDatabase;
  let repository: OrganizationUseRepository;
  let partnerId: string;

  beforeAll(async () => {
    database = await IdentityTestDatabase.start();
    repository = new OrganizationUseRepository(database.tenants);
    partnerId = await database.createPartner();
  }, 120_000);
  afterAll(() => database?.stop());

  const callerOf = (changes: object = {}) =>
    ({
      ...{ kind: 'user', userId: randomUUID(), sessionId: randomUUID() },
      tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], ...changes },
    }) as unknown as OrganizationsInUseRequest['caller'];
  const owner = (orgId: string) => ({ partner_id: partnerId, org_id: orgId });

  const RECORDS: Record<string, (orgId: string) => Promise<unknown>> = {
    'a role': (orgId) => database.createRole(partnerId, orgId),
    'a member': async (orgId) =>
      database.insert('organization_membership', {
        ...owner(orgId),
        user_id: await database.createUser({}),
        role_id: await database.createRole(partnerId, await database.createOrganization(partnerId)),
      }),
    'an accepted invitation': async (orgId) =>
      database.insert('invitation', {
        ...{
          ...owner(orgId),
          user_id: await database.createUser({}),
          email: 'kim@users.test',
          name: 'Kim',
          mailed: true,
        },
        ...{ token_hash: randomBytes(32), expires_at: new Date(), accepted_at: new Date() },
      }),
  };

  it.each(Object.keys(RECORDS))('finds organizations with %s, for callers who may see it', async (record) => {
    const [used, unused] = [await database.createOrganization(partnerId), await database.createOrganization(partnerId)];
    await RECORDS[record]?.(used);
    const orgIds = [unused, used, randomUUID()];
    expect(await repository.listUsed({ caller: callerOf(), partnerId, orgIds })).toEqual([used]);
    const stranger = await database.createPartner();
    expect(await repository.listUsed({ caller: callerOf({ partnerId: stranger }), partnerId, orgIds })).toEqual([]);
    expect(await repository.listUsed({ caller: callerOf(), partnerId: stranger, orgIds })).toEqual([]);
    const restricted = callerOf({ orgAccess: 'selected', orgIds: [unused] });
    expect(await repository.listUsed({ caller: restricted, partnerId, orgIds })).toEqual([]);
  });
});
