import { randomUUID } from 'node:crypto';
import { EraseOrganizationDataJob } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { tablesOfOrganizations } from '@rmm/persistence/testing';
import { eventually } from '@rmm/testing-services';
import { expectStatus, freshEmail, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, type TestUser } from '../../test/users.js';

const TABLES = [
  'session_family',
  'invitation',
  'organization_membership',
  'role',
  'organization_security_policy',
  'member_count',
  'audit_name',
  'audit_name_salt',
  'scim_group',
  'scim_group_member',
  'scim_token',
  'scim_user',
  'sso_provider',
  'sso_domain',
];

describe('erasure of an organization in identity', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let owner: TestUser;
  let bearer: string;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    owner = await registerPartner(identity);
    ({ bearer } = await enrollTotp(identity, owner.bearer));
  }, 120_000);
  afterAll(() => testApp.stop());

  async function createOrganization(): Promise<string> {
    const orgId = randomUUID();
    await testApp.query(
      `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version) VALUES ($1::uuid, $2, 'Acme', $1::uuid::text, 'active', 1)`,
      [orgId, owner.partnerId],
    );
    return orgId;
  }
  /** A customer with a member, a pending invitation, roles and a policy. */
  async function createCustomer() {
    const orgId = await createOrganization();
    const admin = await roleId(identity, bearer, 'Org Admin', `&orgId=${orgId}`);
    const member = await inviteAndAccept(identity, bearer, { roleId: admin, orgId });
    const invited = freshEmail('pending');
    expectStatus(
      await identity.post('/users/invite', { email: invited, name: 'Pending User', roleId: admin, orgId }, { bearer }),
      201,
    );
    await testApp.query(
      `WITH parent AS (INSERT INTO role (partner_id, org_id, scope, name) VALUES ($1, $2, 'organization', 'Parent') RETURNING id)
       INSERT INTO role (partner_id, org_id, scope, name, parent_role_id) SELECT $1, $2, 'organization', 'Child', id FROM parent`,
      [owner.partnerId, orgId],
    );
    await testApp.query('INSERT INTO organization_security_policy (org_id, partner_id) VALUES ($1, $2)', [
      orgId,
      owner.partnerId,
    ]);
    await testApp.query(
      `WITH provider AS (
         INSERT INTO sso_provider (id, partner_id, org_id, name, type) VALUES (gen_random_uuid(), $1, $2, 'Entra', 'oidc'))
       INSERT INTO sso_domain (partner_id, org_id, domain, txt_record_value) VALUES ($1, $2, 'customer.test', 'x')`,
      [owner.partnerId, orgId],
    );
    const provisioned = freshEmail('provisioned');
    await testApp.query(
      `WITH provider AS (SELECT id FROM sso_provider WHERE org_id = $2),
       token AS (
         INSERT INTO scim_token (partner_id, org_id, provider_id, name, token_prefix, token_hash)
         SELECT $1, $2, id, 'Entra', 'scim_', sha256(gen_random_uuid()::text::bytea) FROM provider),
       account AS (INSERT INTO user_account (email, name, status) VALUES ($3, 'Provisioned', 'active') RETURNING id),
       scim AS (
         INSERT INTO scim_user (partner_id, org_id, provider_id, user_id, user_name, email, active, owns_account,
           settings_version)
         SELECT $1, $2, provider.id, account.id, $3, $3, false, true, 1 FROM provider, account RETURNING id),
       groups AS (
         INSERT INTO scim_group (partner_id, org_id, provider_id, display_name)
         SELECT $1, $2, id, 'Staff' FROM provider RETURNING id)
       INSERT INTO scim_group_member (partner_id, org_id, group_id, scim_user_id)
       SELECT $1, $2, groups.id, scim.id FROM groups, scim`,
      [owner.partnerId, orgId, provisioned],
    );
    await eventually(async () => {
      const actions = (await entriesOf(orgId)).map(({ action }) => action).sort();
      expect(actions).toEqual(['user.invite', 'user.invite', 'user.invite.accepted', 'user.login']);
    });
    return { orgId, admin, member, invited, provisioned };
  }
  const erase = async (orgId: string) => {
    await testApp.query('UPDATE organization_directory SET deleted = true, version = 2 WHERE org_id = $1', [orgId]);
    await testApp.query('INSERT INTO organization_erasure (org_id, partner_id) VALUES ($1, $2)', [
      orgId,
      owner.partnerId,
    ]);
    // No service receives the report: provisioning does not run here.
    await identity.app
      .get(EraseOrganizationDataJob)
      .run()
      .catch(() => undefined);
  };
  const count = async (orgId: string) => {
    const counts: Record<string, number> = {};
    for (const table of TABLES) {
      const [row] = await testApp.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table} WHERE org_id = $1`, [
        orgId,
      ]);
      counts[table] = row.n;
    }
    return counts;
  };
  const accounts = async (...emails: string[]) =>
    (await testApp.query<{ email: string }>('SELECT email FROM user_account WHERE email = ANY ($1)', [emails])).map(
      ({ email }) => email,
    );
  const entriesOf = async (orgId: string): Promise<{ action: string; actorEmail: string; resourceName: string }[]> =>
    expectStatus(await identity.get(`/audit-logs?orgId=${orgId}&limit=100`, { bearer }), 200).body.data;
  /** Without the filter by organization, which is refused once the organization is erased. */
  const allEntries = async (): Promise<{ orgId: string; action: string; actorEmail: string; details: object }[]> =>
    expectStatus(await identity.get('/audit-logs?limit=100', { bearer }), 200).body.data;
  const verification = async () => expectStatus(await identity.get('/audit-logs/verify', { bearer }), 200).body.data;

  it('erases members, roles, policies, sessions and the accounts that belong to no other tenant', async () => {
    const { orgId, admin, member, invited, provisioned } = await createCustomer();
    const other = await createCustomer();
    const shared = await inviteAndAccept(identity, bearer, { roleId: admin, orgId });
    await testApp.query(
      `INSERT INTO organization_membership (partner_id, org_id, user_id, role_id)
       SELECT partner_id, $2, user_id, role_id FROM organization_membership WHERE user_id = $1`,
      [shared.userId, other.orgId],
    );
    const kept = await count(other.orgId);
    expect((await count(orgId)).audit_name).toBeGreaterThan(0);
    await erase(orgId);
    expect(await count(orgId)).toEqual(Object.fromEntries(TABLES.map((table) => [table, 0])));
    expect(await count(other.orgId)).toEqual(kept);
    expect(await accounts(member.email, invited, provisioned)).toEqual([]);
    expect(await accounts(other.provisioned)).toHaveLength(1);
    expect(await accounts(shared.email, owner.email)).toHaveLength(2);
    expect((await identity.get('/users/me', { bearer: member.bearer })).status).toBe(401);
    const [{ erased }] = await testApp.query<{ erased: object }>(
      'SELECT erased FROM organization_erasure WHERE org_id = $1',
      [orgId],
    );
    expect(erased).toMatchObject({ session: 2, invitation: 3, membership: 2, account: 3, role: 2, security_policy: 1 });
    expect(erased).toMatchObject({ scim_token: 1, scim_user: 1, scim_group: 1 });
  });

  it('leaves the audit entries with pseudonyms, in a chain that verifies', async () => {
    const { orgId, member, invited } = await createCustomer();
    const before = JSON.stringify(await entriesOf(orgId));
    for (const name of [member.email, invited, owner.email]) expect(before).toContain(name);
    const stored = JSON.stringify(await testApp.query('SELECT * FROM audit_entry WHERE org_id = $1', [orgId]));
    for (const name of [member.email, invited, owner.email]) expect(stored).not.toContain(name);
    expect(await verification()).toMatchObject({ verified: true });
    await erase(orgId);
    const entries = (await allEntries()).filter((entry) => entry.orgId === orgId);
    expect(entries.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['user.invite', 'user.invite.accepted']),
    );
    for (const name of [member.email, invited, owner.email]) expect(JSON.stringify(entries)).not.toContain(name);
    const actors = entries.filter(({ action }) => action === 'user.invite').map(({ actorEmail }) => actorEmail);
    expect(new Set(actors)).toEqual(new Set([expect.stringMatching(/^name:[\w-]{43}$/)]));
    expect(await verification()).toMatchObject({ verified: true });
  });

  it('stores no name of an entry that arrives after the erasure', async () => {
    const { orgId } = await createCustomer();
    await erase(orgId);
    const caller = {
      actor: { type: 'user' as const, id: null, email: 'late@customer.test' },
      tenant: { partnerId: owner.partnerId, orgId },
    };
    await identity.app.get(AuditTrail).recordDirect(caller, 'user.login.failed', { type: 'user', name: 'Late User' });
    await eventually(async () => {
      const late = (await allEntries()).filter(
        (entry) => entry.orgId === orgId && entry.action === 'user.login.failed',
      );
      expect(late).toEqual([expect.objectContaining({ actorEmail: expect.stringMatching(/^name:/) })]);
    });
    expect((await count(orgId)).audit_name).toBe(0);
    expect(await verification()).toMatchObject({ verified: true });
  });

  it.each([
    ['changed', `UPDATE audit_name SET name = 'innocent@x.test' WHERE org_id = $1`],
    ['deleted', 'DELETE FROM audit_name WHERE org_id = $1'],
  ])('reports a break when a stored name is %s without an erasure', async (_, sql) => {
    const partner = await registerPartner(identity);
    const orgId = randomUUID();
    await testApp.query(
      `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version) VALUES ($1::uuid, $2, 'A', $1::uuid::text, 'active', 1)`,
      [orgId, partner.partnerId],
    );
    const admin = await roleId(identity, partner.bearer, 'Org Admin', `&orgId=${orgId}`);
    await inviteAndAccept(identity, partner.bearer, { roleId: admin, orgId });
    const verify = async () =>
      expectStatus(await identity.get('/audit-logs/verify', { bearer: partner.bearer }), 200).body.data;
    await eventually(async () => expect((await count(orgId)).audit_name).toBeGreaterThan(2));
    expect(await verify()).toMatchObject({ verified: true });
    await testApp.query(sql, [orgId]);
    expect(await verify()).toMatchObject({ verified: false, firstBreak: { kind: 'changed' } });
  });

  it('erases every table of organizations but the sealed entries', async () => {
    const kept = ['organization_directory', 'organization_erasure', 'audit_entry'];
    const executor = { query: (sql: string, params?: unknown) => testApp.query<never>(sql, params as unknown[]) };
    expect(await tablesOfOrganizations(executor, 'identity')).toEqual([...TABLES, ...kept].sort());
  });
});
