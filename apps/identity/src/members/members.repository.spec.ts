import { TenantDatabase, type HasTenant, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { inviteAndAccept, registerPartner, roleId, type TestUser } from '../../test/users.js';
import { MembersRepository, type MemberSites } from './members.repository.js';

const page = { page: 1, limit: 10 };

describe('MembersRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let members: MembersRepository;
  let owner: TestUser;
  let viewer: TestUser;
  let viewerRole: string;
  let caller: HasTenant & MemberSites;
  let scope: { kind: 'partner'; partnerId: string };

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    members = identity.app.get(MembersRepository);
    owner = await registerPartner(identity);
    viewerRole = await roleId(identity, owner.bearer, 'Partner Viewer');
    viewer = await inviteAndAccept(identity, owner.bearer, { roleId: viewerRole });
    const { partnerId, userId } = owner;
    caller = {
      siteIds: null,
      deviceGroupIds: null,
      tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId },
    };
    scope = { kind: 'partner', partnerId };
  }, 120_000);
  afterAll(() => testApp.stop());

  const run = <T>(work: (tx: TenantTransaction) => Promise<T>) =>
    identity.app.get(TenantDatabase).transaction(caller, work);

  it('lists members, newest first, with the stored total', async () => {
    const found = await members.list(caller, scope, page);
    expect(found).toMatchObject({ total: 2, partnerSecurity: null, organizationSecurity: null });
    expect(found.rows.map(({ id }) => id)).toEqual([viewer.userId, owner.userId]);
    expect(found.now).toBeInstanceOf(Date);
  });

  it.each([
    ['role', () => ({ roleId: viewerRole }), 1],
    ['search text', () => ({ search: 'ROBIN' }), 1],
    ['status', () => ({ status: 'invited' as const }), 0],
    ['status and role', () => ({ status: 'active' as const, roleId: viewerRole }), 1],
  ])('filters by %s', async (_, filters, total) => {
    const found = await members.list(caller, scope, { ...page, ...filters() });
    expect({ total: found.total, rows: found.rows.length }).toEqual({ total, rows: total });
  });

  it.each([
    [1, 2, 2, 3],
    [2, 2, 1, 3],
    [3, 2, 0, 3],
    [1, 3, 3, 3],
    [1, 10, 3, 3],
    [2, 10, 0, 3],
  ])('has the total of a search on page %d of %d members each', async (number, limit, rows, total) => {
    const partner = await registerPartner(identity);
    const role = await roleId(identity, partner.bearer, 'Partner Viewer');
    for (const name of ['Casey 1', 'Casey 2', 'Other', 'Casey 3']) {
      await inviteAndAccept(identity, partner.bearer, { name, roleId: role });
    }
    const own = { ...caller, tenant: { ...caller.tenant, partnerId: partner.partnerId, userId: partner.userId } };
    const ofPartner = { kind: 'partner' as const, partnerId: partner.partnerId };
    const found = await members.list(own, ofPartner, { page: number, limit, search: 'casey' });
    expect(found).toMatchObject({ total, partnerSecurity: null, organizationSecurity: null });
    const newestFirst = ['Casey 3', 'Casey 2', 'Casey 1'].slice((number - 1) * limit, number * limit);
    expect(found.rows.map(({ name }) => name)).toEqual(newestFirst);
    expect(found.rows).toHaveLength(rows);
  });

  it('returns one member by id', async () => {
    const found = await members.find(caller, scope, owner.userId);
    expect(found.rows).toEqual([expect.objectContaining({ email: owner.email, orgAccess: 'all', siteIds: null })]);
  });

  it('assigns roles to a locked member', async () => {
    const technician = await roleId(identity, owner.bearer, 'Partner Technician');
    await run(async (tx) => {
      expect(await members.lock(tx, scope, viewer.userId)).toMatchObject({ roleId: viewerRole, email: viewer.email });
      await members.setRole(tx, scope, viewer.userId, technician);
    });
    expect(await run((tx) => members.lock(tx, scope, viewer.userId))).toMatchObject({ roleId: technician });
  });

  it('recognizes the last administrator', async () => {
    expect(await run((tx) => members.hasAnotherAdmin(tx, owner.partnerId, owner.userId))).toBe(false);
    expect(await run((tx) => members.hasAnotherAdmin(tx, owner.partnerId, viewer.userId))).toBe(true);
  });

  it('inserts a membership once and removes it', async () => {
    const user = await inviteAndAccept(identity, owner.bearer, { roleId: viewerRole });
    const membership = {
      scope,
      userId: user.userId,
      roleId: viewerRole,
      invitedBy: owner.userId,
      orgAccess: 'none' as const,
      orgIds: [],
      siteIds: null,
      deviceGroupIds: null,
    };
    expect(await run((tx) => members.insert(tx, membership))).toBe(false);
    await run((tx) => members.remove(tx, scope, user.userId));
    await expect(run((tx) => members.lock(tx, scope, user.userId))).rejects.toThrow(NotFoundError);
  });
});
