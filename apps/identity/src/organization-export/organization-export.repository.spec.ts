import { randomBytes, randomUUID } from 'node:crypto';
import { EXPORT_READ_LIMIT } from '@rmm/access';
import { organizationCaller, partnerCaller } from '../../test/callers.js';
import { IdentityTestDatabase } from '../../test/identity-test-database.js';
import { OrganizationExportRepository, type ExportedTable } from './organization-export.repository.js';

const TABLES: ExportedTable[] = ['member', 'invitation', 'role', 'security_policy'];

describe('OrganizationExportRepository', () => {
  let database: IdentityTestDatabase;
  let repository: OrganizationExportRepository;
  let partnerId: string;
  let orgId: string;
  let roleId: string;

  beforeAll(async () => {
    database = await IdentityTestDatabase.start();
    repository = new OrganizationExportRepository(database.tenants);
    partnerId = await database.createPartner();
    orgId = await createOrganization();
    await createOrganization();
  }, 120_000);
  afterAll(() => database?.stop());

  /** Creates an organization with one row of each table. */
  const createOrganization = async () => {
    const id = await database.createOrganization(partnerId);
    const owner = { partner_id: partnerId, org_id: id };
    roleId = await database.createRole(partnerId, id);
    const userId = await database.createUser({ password_hash: 'a password hash', phone_number: '+41791234567' });
    await database.insert('organization_membership', { ...owner, user_id: userId, role_id: roleId });
    await database.insert('invitation', {
      ...{ ...owner, user_id: userId, role_id: roleId, email: 'kim@users.test', name: 'Kim', mailed: true },
      ...{ token_hash: randomBytes(32), expires_at: new Date() },
    });
    await database.query('INSERT INTO organization_security_policy (org_id, partner_id) VALUES ($1, $2)', [
      id,
      partnerId,
    ]);
    return id;
  };
  const list = (resource: ExportedTable, caller = partnerCaller(partnerId), after: string | null = null) =>
    repository.list(caller, { orgId, partnerId, after }, resource);

  it.each(TABLES)('returns the %s rows of the organization, to callers with access to it only', async (resource) => {
    const rows = await list(resource);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.id).toMatch(/^[\da-f-]{36}$/);
    expect(await list(resource, organizationCaller(partnerId, orgId))).toEqual(rows);
    expect(await list(resource, organizationCaller(partnerId, randomUUID()))).toEqual([]);
    expect(await list(resource, partnerCaller(await database.createPartner()))).toEqual([]);
    expect(
      await repository.list(partnerCaller(partnerId), { orgId, partnerId: randomUUID(), after: null }, resource),
    ).toEqual([]);
  });

  it('returns what the organization is to know, and no secret', async () => {
    const rows = JSON.stringify(await Promise.all(TABLES.map((resource) => list(resource))));
    expect(rows).toContain('Robin Vale');
    expect(rows).toContain('kim@users.test');
    expect(rows).not.toMatch(/password|hash|token|4179/i);
  });

  it('returns the rows of a deleted organization', async () => {
    await database.query(`UPDATE organization_directory SET deleted = true, status = 'churned' WHERE org_id = $1`, [
      orgId,
    ]);
    expect(await list('member')).toHaveLength(1);
  });

  it('returns pages in the order of ids', async () => {
    await database.query(
      `INSERT INTO role (partner_id, org_id, scope, name)
       SELECT $1, $2, 'organization', 'Role ' || n FROM generate_series(1, $3::int) n`,
      [partnerId, orgId, EXPORT_READ_LIMIT],
    );
    const first = await list('role');
    expect(first).toHaveLength(EXPORT_READ_LIMIT);
    const rest = await list('role', partnerCaller(partnerId), first.at(-1)?.id ?? null);
    const ids = [...first, ...rest].map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(EXPORT_READ_LIMIT + 1);
  });
});
