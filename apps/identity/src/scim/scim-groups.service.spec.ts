import { eventually } from '@rmm/testing-services';
import { expectStatus } from '../../test/identity-test-app.js';
import { ScimTenants, type ScimClient, type ScimTenant } from '../../test/scim-test-app.js';
import { SsoTestApp } from '../../test/sso-test-app.js';
import { inviteAndAccept } from '../../test/users.js';

describe('groups of SCIM', () => {
  let sso: SsoTestApp;
  let tenants: ScimTenants;
  let tenant: ScimTenant;
  let client: ScimClient;
  let technician: string;
  let lead: string;
  let users = 0;

  beforeAll(async () => {
    sso = await SsoTestApp.start();
    tenants = new ScimTenants(sso);
    tenant = await tenants.create();
    ({ client } = tenant);
    technician = await tenants.role(tenant, 'Technician', 'write');
    lead = await tenants.role(tenant, 'Lead', 'delete');
    const roleMappings = [
      { group: 'RMM Leads', roleId: lead },
      { group: 'RMM Technicians', roleId: technician },
    ];
    expectStatus(await tenants.configure(tenant, { roleMappings }), 200);
  }, 120_000);
  afterAll(() => sso.stop());

  const newUser = async () => {
    const email = `user-${++users}@${tenant.domain}`;
    return { email, ...(await client.user(email)) };
  };
  const roleOf = async (email: string) => (await tenants.membership(tenant, email))?.roleId;
  const add = (...ids: string[]) => ({ op: 'add', path: 'members', value: ids.map((value) => ({ value })) });
  const remove = (id: string) => ({ op: 'remove', path: `members[value eq "${id}"]` });

  it('give their users the role of the first mapping that matches, whatever the case of the name', async () => {
    const { id, email } = await newUser();
    expect(await roleOf(email)).toBe(tenant.roleId);
    const technicians = await client.group('rmm technicians', id);
    expect(await roleOf(email)).toBe(technician);
    const leads = await client.group('RMM Leads');
    expectStatus(await client.patch(`/Groups/${leads}`, add(id)), 204);
    expect(await roleOf(email)).toBe(lead);
    const { body } = expectStatus(await client.get(`/Users/${id}`), 200);
    expect((body.groups as { display: string }[]).map(({ display }) => display)).toEqual([
      'RMM Leads',
      'rmm technicians',
    ]);
    expectStatus(await client.patch(`/Groups/${leads}`, { op: 'replace', path: 'displayName', value: 'Others' }), 204);
    expect(await roleOf(email)).toBe(technician);
    expectStatus(await client.patch(`/Groups/${technicians}`, remove(id)), 204);
    expect(await roleOf(email)).toBe(tenant.roleId);
    expectStatus(
      await client.call('put', `/Groups/${leads}`, { displayName: 'RMM Leads', members: [{ value: id }] }),
      200,
    );
    expect(await roleOf(email)).toBe(lead);
    expectStatus(await client.call('delete', `/Groups/${leads}`), 204);
    expect(await roleOf(email)).toBe(tenant.roleId);
    expectStatus(await client.call('delete', `/Groups/${technicians}`), 204);
  });

  it('give the role of the group also to a user who becomes active in it', async () => {
    const { id, email } = await newUser();
    const group = await client.group('RMM Leads', id);
    expectStatus(await client.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false }), 200);
    expectStatus(await client.patch(`/Groups/${group}`, add(id)), 204);
    expect(await roleOf(email)).toBeUndefined();
    expectStatus(await client.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: true }), 200);
    expect(await roleOf(email)).toBe(lead);
    expectStatus(await client.call('delete', `/Groups/${group}`), 204);
  });

  it('have each user once after 20 parallel requests to two replicas add and remove users', async () => {
    const members = [await newUser(), await newUser(), await newUser(), await newUser()];
    const group = await client.group('RMM Technicians');
    const second = client.at(await sso.testApp.startReplica());
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const { id } = members[i % 4];
        return (i % 2 === 0 ? client : second).patch(`/Groups/${group}`, i < 4 ? remove(id) : add(id));
      }),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array<number>(20).fill(204));
    expectStatus(await client.patch(`/Groups/${group}`, add(...members.map(({ id }) => id))), 204);
    const { body } = expectStatus(await client.get(`/Groups/${group}`), 200);
    const listed = (body.members as { value: string }[]).map(({ value }) => value);
    expect(listed.sort()).toEqual(members.map(({ id }) => id).sort());
    for (const { email } of members) expect(await roleOf(email)).toBe(technician);
    expectStatus(await client.call('delete', `/Groups/${group}`), 204);
  });

  it('are found by name, external id and member, and listed with their users in pages', async () => {
    const own = await tenants.create();
    const { id } = await own.client.user(`ann@${own.domain}`);
    const first = await own.client.group('First', id);
    await own.client.group('Second');
    const found = async (filter: string) =>
      (expectStatus(await own.client.find('Groups', filter), 200).body.Resources as { displayName: string }[]).map(
        ({ displayName }) => displayName,
      );
    expect(await found('displayName eq "second"')).toEqual(['Second']);
    expect(await found(`members[value eq "${id}"]`)).toEqual(['First']);
    expect(await found(`id eq "${first}" and displayName eq "First"`)).toEqual(['First']);
    const { body } = expectStatus(await own.client.get('/Groups?count=1'), 200);
    expect(body).toMatchObject({ totalResults: 2, itemsPerPage: 1, Resources: [{ members: [{ value: id }] }] });
    const excluded = await own.client.get('/Groups?excludedAttributes=members');
    expect(excluded.text).not.toContain('"members"');
  });

  it.each([
    ['an unknown user', '7d9f2c1e-0000-4000-8000-000000000000'],
    ['no id', 'ann'],
  ])('refuse %s as member', async (_, value) => {
    const group = await client.group(`Refusing ${value}`);
    for (const operation of [add(value), { op: 'replace', path: 'members', value: [{ value }] }]) {
      const response = await client.patch(`/Groups/${group}`, operation);
      expect([response.status, response.body.scimType]).toEqual([400, 'invalidValue']);
    }
    expectStatus(await client.patch(`/Groups/${group}`, remove(value)), 204);
  });

  it('take no user of another provider, and are not shown to it', async () => {
    const other = await tenants.create();
    const { id: foreign } = await other.client.user(`ann@${other.domain}`);
    const group = await client.group('Own');
    expect((await client.patch(`/Groups/${group}`, add(foreign))).status).toBe(400);
    for (const response of [
      await other.client.get(`/Groups/${group}`),
      await other.client.patch(`/Groups/${group}`, add(foreign)),
      await other.client.call('put', `/Groups/${group}`, { displayName: 'x' }),
      await other.client.call('delete', `/Groups/${group}`),
    ]) {
      expect([response.status, response.body.detail]).toEqual([404, 'Group not found']);
    }
  });

  it('return 409 for a name that another group of the provider has', async () => {
    await client.group('Taken');
    const { status, body } = await client.call('post', '/Groups', { displayName: 'TAKEN' });
    expect([status, body.code, body.scimType]).toEqual([409, 'scim_uniqueness', 'uniqueness']);
  });

  it('give the role with their name only where the provider says so', async () => {
    const own = await tenants.create();
    const byName = await tenants.role(own, 'Night Shift', 'write');
    const email = `ann@${own.domain}`;
    const { id } = await own.client.user(email);
    await own.client.group('night shift', id);
    expect((await tenants.membership(own, email))?.roleId).toBe(own.roleId);
    expectStatus(await tenants.configure(own, { groupsByName: true }), 200);
    await eventually(async () => expect((await tenants.membership(own, email))?.roleId).toBe(byName));
    expectStatus(await tenants.configure(own, { groupsByName: false }), 200);
    await eventually(async () => expect((await tenants.membership(own, email))?.roleId).toBe(own.roleId));
  });

  it('give no role that who configured the mapping may not grant any more', async () => {
    const own = await tenants.create();
    const roleId = await tenants.role(own, 'Powerful', 'write');
    expectStatus(await tenants.configure(own, { roleMappings: [{ group: 'Power', roleId }] }), 200);
    const member = await inviteAndAccept(sso.identity, own.bearer, { orgId: own.orgId, roleId: own.roleId });
    await sso.testApp.query('UPDATE sso_provider SET scim_configured_by = $1 WHERE id = $2', [
      member.userId,
      own.providerId,
    ]);
    const email = `ann@${own.domain}`;
    const { id } = await own.client.user(email);
    const group = await own.client.group('Power');
    const refused = await own.client.patch(`/Groups/${group}`, add(id));
    expect([refused.status, refused.body.code]).toEqual([403, 'scim_role_not_grantable']);
    expect((await tenants.membership(own, email))?.roleId).toBe(own.roleId);
  });

  it('with more than 100 users give their roles in the background', async () => {
    const own = await tenants.create();
    const roleId = await tenants.role(own, 'All Staff', 'write');
    expectStatus(await tenants.configure(own, { roleMappings: [{ group: 'All Staff', roleId }] }), 200);
    await sso.testApp.query(
      `WITH account AS (
         INSERT INTO user_account (email, name, status)
         SELECT 'many-' || n || '@' || $1::text, 'Many', 'active' FROM generate_series(1, 101) n RETURNING id, email)
       INSERT INTO scim_user (partner_id, org_id, provider_id, user_id, user_name, email, active, owns_account, settings_version)
       SELECT p.partner_id, p.org_id, p.id, account.id, account.email, account.email, true, true, p.config_version
       FROM account, sso_provider p WHERE p.id = $2`,
      [own.domain, own.providerId],
    );
    const rows = await sso.testApp.query<{ id: string }>('SELECT id FROM scim_user WHERE provider_id = $1', [
      own.providerId,
    ]);
    await own.client.group('All Staff', ...rows.map(({ id }) => id));
    await eventually(async () => {
      const members = await sso.testApp.query(
        'SELECT 1 FROM organization_membership WHERE org_id = $1 AND role_id = $2',
        [own.orgId, roleId],
      );
      expect(members).toHaveLength(101);
    });
  });
});
