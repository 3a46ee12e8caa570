import { TenantDatabase, WorkerDatabase, type HasTenant, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, type TestUser } from '../../test/users.js';
import { RolesRepository } from './roles.repository.js';

const page = { page: 1, limit: 100 };
const fields = { name: 'Support', description: null, parentRoleId: null, forceMfa: false };

describe('RolesRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let roles: RolesRepository;
  let tenants: TenantDatabase;
  let owner: TestUser;
  let caller: HasTenant;
  let scope: { kind: 'partner'; partnerId: string };

  const callerOf = ({ partnerId, userId }: TestUser): HasTenant => ({
    tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId },
  });
  const run = <T>(work: (tx: TenantTransaction) => Promise<T>) => tenants.transaction(caller, work);

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    roles = identity.app.get(RolesRepository);
    tenants = identity.app.get(TenantDatabase);
    owner = await registerPartner(identity);
    caller = callerOf(owner);
    scope = { kind: 'partner', partnerId: owner.partnerId };
  }, 120_000);
  afterAll(() => testApp.stop());

  it("lists system roles by name, and a partner's copy of a seeded role instead of it", async () => {
    const { rows, total } = await roles.list(caller, scope, page);
    expect(total).toBe(rows.length);
    const admins = rows.filter(({ systemKey }) => systemKey === 'partner_admin');
    expect(admins).toEqual([expect.objectContaining({ partnerId: owner.partnerId, userCount: 1 })]);
    const names = rows.map(({ name }) => name);
    expect(names).toEqual([...names].sort());
    expect(rows.every(({ isSystem }) => isSystem)).toBe(true);
  });

  it('creates a role, sets its permissions and inherits those of its parent', async () => {
    const { parent, child } = await run(async (tx) => {
      const created = await roles.create(tx, scope, { ...fields, name: 'Parent' });
      await roles.setPermissions(tx, created.id, ['devices:read', 'alerts:read']);
      await roles.setPermissions(tx, created.id, ['devices:read']);
      const inheriting = await roles.create(tx, scope, { ...fields, name: 'Child', parentRoleId: created.id });
      await roles.setPermissions(tx, inheriting.id, ['tickets:read']);
      return { parent: created, child: inheriting };
    });
    expect(await roles.get(caller, scope, parent.id)).toMatchObject({ permissions: ['devices:read'] });
    expect(await roles.get(caller, scope, child.id)).toMatchObject({
      permissions: ['tickets:read'],
      parentRoleName: 'Parent',
      userCount: 0,
    });
    const grantable = await roles.findGrantable(caller, scope, child.id);
    expect(grantable?.permissions.sort()).toEqual(['devices:read', 'tickets:read']);
    const together = await roles.listPermissions(identity.app.get(WorkerDatabase), [child.id, null]);
    expect(together.sort()).toEqual(['devices:read', 'tickets:read']);
    const tree = await roles.getTree(caller, scope);
    expect(tree.getChain(child.id).map(({ id }) => id)).toEqual([child.id, parent.id]);
    expect(await run((tx) => roles.lockForRemoval(tx, parent.id))).toEqual({ userCount: 0, childRoleCount: 1 });
  });

  it('increments the version with each change, and deletes', async () => {
    const role = await run((tx) => roles.create(tx, scope, fields));
    await run((tx) => roles.change(tx, role, { ...fields, name: 'Renamed' }));
    expect(await roles.getAnywhere(caller, role.id)).toMatchObject({ name: 'Renamed', version: role.version + 1 });
    await run((tx) => roles.remove(tx, role.id));
    await expect(roles.getAnywhere(caller, role.id)).rejects.toThrow(NotFoundError);
  });

  it('lists the members who have a role', async () => {
    const { rows } = await roles.list(caller, scope, page);
    const admin = rows.find(({ systemKey }) => systemKey === 'partner_admin');
    const found = await roles.listUsers(
      { ...caller, siteIds: null, deviceGroupIds: null },
      scope,
      admin?.id ?? '',
      page,
    );
    expect(found).toEqual({ total: 1, rows: [expect.objectContaining({ id: owner.userId, email: owner.email })] });
  });

  it('returns no role of another partner', async () => {
    const role = await run((tx) => roles.create(tx, scope, fields));
    const stranger = callerOf(await registerPartner(identity, 'Other MSP'));
    await expect(roles.getAnywhere(stranger, role.id)).rejects.toThrow(NotFoundError);
  });
});
