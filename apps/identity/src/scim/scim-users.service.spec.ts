import { expectStatus, freshEmail, PASSWORD } from '../../test/identity-test-app.js';
import { ScimClient, ScimTenants, USER_SCHEMA, type ScimTenant } from '../../test/scim-test-app.js';
import { SsoTestApp } from '../../test/sso-test-app.js';
import { inviteAndAccept, registerPartner } from '../../test/users.js';

describe('users of SCIM', () => {
  let sso: SsoTestApp;
  let tenants: ScimTenants;
  let tenant: ScimTenant;
  let client: ScimClient;
  let users = 0;

  beforeAll(async () => {
    sso = await SsoTestApp.start();
    tenants = new ScimTenants(sso);
    tenant = await tenants.create();
    ({ client } = tenant);
  }, 120_000);
  afterAll(() => sso.stop());

  const address = (name = 'user') => `${name}-${++users}@${tenant.domain}`;
  const roleOf = async (email: string) => (await tenants.membership(tenant, email))?.roleId;
  const account = async (email: string) =>
    (
      await sso.testApp.query<{ status: string; name: string; hasPassword: boolean; verified: boolean }>(
        `SELECT status, name, password_hash IS NOT NULL AS "hasPassword", email_verified_at IS NOT NULL AS verified
         FROM user_account WHERE email = $1`,
        [email],
      )
    )[0];

  it('creates a member without a password, with the default role of the provider', async () => {
    const email = address('Ann').toLowerCase();
    const body = {
      schemas: [USER_SCHEMA],
      userName: email,
      externalId: 'ext-1',
      name: { givenName: 'Ann', familyName: 'Lee' },
      emails: [{ value: email.toUpperCase(), type: 'Work', primary: true }],
      title: 'ignored',
    };
    const { body: created, headers } = expectStatus(await client.call('post', '/Users', body), 201);
    expect(headers['content-type']).toBe('application/scim+json; charset=utf-8');
    expect(headers.location).toBe(`http://localhost:8080/api/v1/scim/v2/Users/${created.id}`);
    expect(created).toEqual({
      schemas: [USER_SCHEMA],
      id: created.id,
      externalId: 'ext-1',
      userName: email,
      name: { givenName: 'Ann', familyName: 'Lee', formatted: 'Ann Lee' },
      active: true,
      emails: [{ value: email, type: 'work', primary: true }],
      groups: [],
      meta: {
        resourceType: 'User',
        created: expect.any(String),
        lastModified: expect.any(String),
        location: headers.location,
      },
    });
    expect(await account(email)).toEqual({ status: 'active', name: 'Ann Lee', hasPassword: false, verified: true });
    expect(await roleOf(email)).toBe(tenant.roleId);
    expect(expectStatus(await client.get(`/Users/${created.id}`), 200).body).toEqual(created);
  });

  it('ends the membership of an inactive user and gives back role and sites when it is active again', async () => {
    const email = address();
    const { id } = await client.user(email);
    const sites = ['7d9f2c1e-0000-4000-8000-000000000001'];
    await sso.testApp.query(
      `UPDATE organization_membership m SET site_ids = $1 FROM user_account u WHERE u.id = m.user_id AND u.email = $2`,
      [sites, email],
    );
    const off = expectStatus(await client.patch(`/Users/${id}`, { op: 'replace', value: { active: false } }), 200);
    expect(off.body.active).toBe(false);
    expect(await tenants.membership(tenant, email)).toBeUndefined();
    expect(expectStatus(await client.get(`/Users/${id}`), 200).body.active).toBe(false);
    expectStatus(await client.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: true }), 200);
    expect(await tenants.membership(tenant, email)).toMatchObject({ roleId: tenant.roleId, siteIds: sites });
  });

  it('deletes a user with its membership, keeps the account, and provisions it again', async () => {
    const email = address();
    const { id } = await client.user(email);
    expectStatus(await client.call('delete', `/Users/${id}`), 204);
    expect((await client.get(`/Users/${id}`)).status).toBe(404);
    expect((await client.call('delete', `/Users/${id}`)).status).toBe(404);
    expect(await tenants.membership(tenant, email)).toBeUndefined();
    expect(await account(email)).toMatchObject({ status: 'active' });
    expect((await client.user(email)).id).not.toBe(id);
    expect(await roleOf(email)).toBe(tenant.roleId);
  });

  it('takes over a member of the organization with its role, and refuses changes by hand', async () => {
    const email = address('member');
    const roleId = await tenants.role(tenant, 'Chosen by hand', 'write');
    const { identity } = sso;
    expectStatus(
      await identity.post('/users/invite', { email, name: 'Member', roleId, orgId: tenant.orgId }, tenant),
      201,
    );
    const token = await identity.mailedToken(email);
    const joined = expectStatus(await identity.post('/auth/accept-invite', { token, password: PASSWORD }), 200);
    const userId = joined.body.user.id as string;
    const { id } = await client.user(email, { displayName: 'Other Name' });
    expect(await roleOf(email)).toBe(roleId);
    expect(await account(email)).toMatchObject({ name: 'Member', hasPassword: true });
    const listed = expectStatus(await identity.get(`/users/${userId}?orgId=${tenant.orgId}`, tenant), 200);
    expect(listed.body.managedBy).toBe('scim');
    const byHand = { roleId: tenant.roleId, orgId: tenant.orgId };
    for (const refused of [
      await identity.post(`/users/${userId}/role`, byHand, tenant),
      await identity.delete(`/users/${userId}?orgId=${tenant.orgId}`, tenant),
      await identity.post('/auth/leave', { orgId: tenant.orgId }, { bearer: joined.body.tokens.accessToken }),
    ]) {
      expect([refused.status, refused.body.code]).toEqual([409, 'managed_by_scim']);
    }
    expectStatus(await client.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' }), 200);
    const invite = { email, name: 'Member', roleId, orgId: tenant.orgId };
    expect((await identity.post('/users/invite', invite, tenant)).body.code).toBe('user_already_exists');
    expectStatus(await client.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'True' }), 200);
    expect(await roleOf(email)).toBe(roleId);
  });

  it('accepts the open invitation of an address that it provisions', async () => {
    const email = address('invited');
    const invite = { email, name: 'Invited', roleId: tenant.roleId, orgId: tenant.orgId };
    expectStatus(await sso.identity.post('/users/invite', invite, tenant), 201);
    await client.user(email);
    expect(await account(email)).toMatchObject({ status: 'active', hasPassword: false });
    expect(await roleOf(email)).toBe(tenant.roleId);
  });

  describe('never takes over an account outside of the organization:', () => {
    const refused = async (email: string) => {
      const response = await client.call('post', '/Users', { userName: email });
      expect(await tenants.membership(tenant, email)).toBeUndefined();
      return [response.status, response.body.code, response.body.scimType];
    };

    it('returns 400 for an address whose domain the organization has not proven', async () => {
      expect(await refused(freshEmail())).toEqual([400, 'scim_bad_request', 'invalidValue']);
      const other = await tenants.create();
      expect(await refused(`ann@${other.domain}`)).toEqual([400, 'scim_bad_request', 'invalidValue']);
    });

    it('returns 409 for the account of another tenant', async () => {
      const email = address('elsewhere');
      const partner = await registerPartner(sso.identity);
      await sso.testApp.query('UPDATE user_account SET email = $1 WHERE id = $2', [email, partner.userId]);
      expect(await refused(email)).toEqual([409, 'scim_uniqueness', 'uniqueness']);
    });

    it('returns 409 for an account without a tenant that has a password', async () => {
      const email = address('former');
      await sso.testApp.query(
        `INSERT INTO user_account (email, name, status, password_hash) VALUES ($1, 'Former', 'active', 'x')`,
        [email],
      );
      expect(await refused(email)).toEqual([409, 'scim_uniqueness', 'uniqueness']);
    });

    it.each([
      ['a platform administrator', `status = 'active', is_platform_admin = true`],
      ['a disabled account', `status = 'disabled'`],
    ])('returns 403 for %s', async (_, state) => {
      const email = address('special');
      await sso.testApp.query(`INSERT INTO user_account (email, name, status) VALUES ($1, 'Special', 'active')`, [
        email,
      ]);
      await sso.testApp.query(`UPDATE user_account SET ${state} WHERE email = $1`, [email]);
      expect(await refused(email)).toEqual([403, 'scim_account_refused', undefined]);
      await sso.testApp.query('DELETE FROM user_account WHERE email = $1', [email]);
    });
  });

  it('creates one user for 20 parallel requests with one userName at two replicas', async () => {
    const email = address('race');
    const second = client.at(await sso.testApp.startReplica());
    const body = { schemas: [USER_SCHEMA], userName: email, active: true };
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? client : second).call('post', '/Users', body)),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(19).fill(409)]);
    expect(expectStatus(await client.find('Users', `userName eq "${email}"`), 200).body.totalResults).toBe(1);
    expect(await roleOf(email)).toBe(tenant.roleId);
  });

  it('stores the new name and address of an account that it created', async () => {
    const [before, after] = [address(), address('renamed')];
    const { id } = await client.user(before, { displayName: 'Before' });
    const { id: userId } = (
      await sso.testApp.query<{ id: string }>('SELECT id FROM user_account WHERE email = $1', [before])
    )[0];
    const body = { userName: after, displayName: 'After', active: true };
    expectStatus(await client.call('put', `/Users/${id}`, body), 200);
    expect(await account(before)).toBeUndefined();
    expect(await account(after)).toMatchObject({ name: 'After', verified: true });
    const [row] = await sso.testApp.query<{ epoch: number }>(
      'SELECT auth_epoch AS epoch FROM user_account WHERE id = $1',
      [userId],
    );
    expect(row.epoch).toBe(2);
    const taken = await client.user(address());
    const conflict = await client.call('put', `/Users/${taken.id}`, {
      userName: address(),
      emails: [{ value: after }],
    });
    expect([conflict.status, conflict.body.scimType]).toEqual([409, 'uniqueness']);
    const foreign = await client.call('put', `/Users/${id}`, { userName: freshEmail() });
    expect([foreign.status, foreign.body.scimType]).toEqual([400, 'invalidValue']);
  });

  it('leaves name and address of an account with another tenant as they are', async () => {
    const email = address('shared');
    const { id } = await client.user(email, { displayName: 'Shared' });
    const partner = await registerPartner(sso.identity);
    await sso.testApp.query(
      `INSERT INTO partner_membership (partner_id, user_id, role_id)
       SELECT $1, u.id, (SELECT role_id FROM partner_membership WHERE user_id = $2) FROM user_account u WHERE u.email = $3`,
      [partner.partnerId, partner.userId, email],
    );
    expectStatus(await client.patch(`/Users/${id}`, { op: 'replace', path: 'displayName', value: 'Renamed' }), 200);
    expect(await account(email)).toMatchObject({ name: 'Shared' });
    expectStatus(await client.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false }), 200);
    const left = await sso.testApp.query(
      'SELECT 1 FROM partner_membership m JOIN user_account u ON u.id = m.user_id WHERE u.email = $1',
      [email],
    );
    expect(left).toHaveLength(1);
  });

  it('finds users by each documented filter, in pages of at most 100', async () => {
    const own = await tenants.create();
    const names = Array.from({ length: 5 }, (_, i) => `u${i}@${own.domain}`);
    for (const [i, name] of names.entries()) {
      await own.client.user(name, { externalId: `x${i}`, displayName: `User ${i}` });
    }
    const found = async (filter: string) =>
      (expectStatus(await own.client.find('Users', filter), 200).body.Resources as { userName: string }[]).map(
        ({ userName }) => userName,
      );
    expect(await found(`userName eq "${names[1].toUpperCase()}"`)).toEqual([names[1]]);
    expect(await found('externalId eq "x2"')).toEqual([names[2]]);
    expect(await found('externalId eq "X2"')).toEqual([]);
    expect(await found(`emails[type eq "work"].value eq "${names[3]}"`)).toEqual([names[3]]);
    expect(await found(`emails[type eq "home"].value eq "${names[3]}"`)).toEqual([]);
    expect(await found(`emails.value eq "${names[3]}"`)).toEqual([names[3]]);
    expect(await found('displayName eq "user 4" and externalId eq "x4"')).toEqual([names[4]]);
    expect(await found(`userName eq "ann@example.com"`)).toEqual([]);
    const page = async (query: string) => {
      const { body } = expectStatus(await own.client.get(`/Users${query}`), 200);
      return [body.totalResults, body.startIndex, body.itemsPerPage, body.Resources.length];
    };
    expect(await page('')).toEqual([5, 1, 5, 5]);
    expect(await page('?startIndex=4&count=100000')).toEqual([5, 4, 2, 2]);
    expect(await page('?startIndex=0&count=2')).toEqual([5, 1, 2, 2]);
    expect(await page('?startIndex=99&count=-1')).toEqual([5, 99, 0, 0]);
    const projected = expectStatus(await own.client.get('/Users?count=1&attributes=userName,name.givenName'), 200);
    expect(Object.keys(projected.body.Resources[0] as object).sort()).toEqual(['id', 'schemas', 'userName']);
  });

  it.each([
    ['an operator that is not supported', 'userName sw "a"', 'invalidFilter'],
    ['or', 'userName eq "a" or userName eq "b"', 'invalidFilter'],
    ['an attribute that is not stored', 'title eq "x"', 'invalidFilter'],
    ['a name of Object.prototype', 'constructor eq "x"', 'invalidFilter'],
    ['no filter at all', 'x', 'invalidFilter'],
    ['parentheses that nest deep', `${'('.repeat(250)}userName eq "x"${')'.repeat(250)}`, 'invalidFilter'],
    ['more than 512 characters', `userName eq "${'x'.repeat(600)}"`, 'invalidFilter'],
    ['five conditions', Array(5).fill('userName eq "x"').join(' and '), 'invalidFilter'],
    ['a NUL', 'userName eq "\u0000"', 'invalidValue'],
  ])('returns 400 for a filter with %s', async (_, filter, scimType) => {
    const { status, body } = await client.find('Users', filter);
    expect([status, body.status, body.scimType]).toEqual([400, '400', scimType]);
    expect(body.schemas).toEqual(['urn:ietf:params:scim:api:messages:2.0:Error']);
  });

  it.each([
    ['malformed JSON', '{"userName":', 'invalidSyntax'],
    ['a list', [], 'invalidValue'],
    ['no userName', { active: true }, 'invalidValue'],
    ['a userName that is a number', { userName: 7 }, 'invalidValue'],
    ['no address', { userName: 'ann' }, 'invalidValue'],
    ['an active that is no boolean', { userName: 'ann@example.com', active: 'yes' }, 'invalidValue'],
    ['a control character', { userName: 'ann@example.com', displayName: 'a\u0000b' }, 'invalidValue'],
    ['a name that is too long', { userName: 'ann@example.com', displayName: 'x'.repeat(256) }, 'invalidValue'],
    ['emails of another type', { userName: 'ann', emails: [['x']] }, 'invalidSyntax'],
  ])('returns 400 for a user with %s', async (_, body, scimType) => {
    const response = await client.call('post', '/Users', body);
    expect([response.status, response.body.scimType]).toEqual([400, scimType]);
  });

  it('refuses a body over 1 MB and another media type with an error of SCIM', async () => {
    const large = await client.call('post', '/Users', { userName: 'x', title: 'x'.repeat(1024 * 1024) });
    expect([large.status, large.body?.status]).toEqual([413, '413']);
    const form = await client.call('post', '/Users', 'userName=x', {
      'Content-Type': 'application/x-www-form-urlencoded',
    });
    expect([form.status, form.headers['content-type']]).toEqual([415, 'application/scim+json; charset=utf-8']);
    expect(form.body.schemas).toEqual(['urn:ietf:params:scim:api:messages:2.0:Error']);
  });

  it('shows no user of another provider', async () => {
    const other = await tenants.create();
    const { id } = await other.client.user(`ann@${other.domain}`);
    for (const response of [
      await client.get(`/Users/${id}`),
      await client.call('put', `/Users/${id}`, { userName: address() }),
      await client.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false }),
      await client.call('delete', `/Users/${id}`),
      await client.get('/Users/not-an-id'),
    ]) {
      expect([response.status, response.body.detail]).toEqual([404, 'User not found']);
    }
    expect((await client.find('Users', `id eq "${id}"`)).body.totalResults).toBe(0);
    expect((await other.client.get(`/Users/${id}`)).body.active).toBe(true);
  });

  it('keeps a user without a role from becoming a member', async () => {
    const own = await tenants.create({ defaultRoleId: null });
    const email = `ann@${own.domain}`;
    const { id } = await own.client.user(email);
    expect((await own.client.get(`/Users/${id}`)).body.active).toBe(true);
    expect(await tenants.membership(own, email)).toBeUndefined();
  });

  it('creates no member when who chose the default role lost it', async () => {
    const own = await tenants.create();
    const { client: other } = own;
    const member = await inviteAndAccept(sso.identity, own.bearer, { orgId: own.orgId, roleId: own.roleId });
    await sso.testApp.query('UPDATE sso_provider SET default_role_configured_by = $1 WHERE id = $2', [
      member.userId,
      own.providerId,
    ]);
    const { id } = await other.user(`first@${own.domain}`);
    await sso.testApp.query(`UPDATE user_account SET status = 'disabled' WHERE id = $1`, [member.userId]);
    const refused = await other.call('post', '/Users', { userName: `second@${own.domain}` });
    expect([refused.status, refused.body.code]).toEqual([403, 'scim_role_not_grantable']);
    expect(await tenants.membership(own, `second@${own.domain}`)).toBeUndefined();
    expectStatus(await other.call('delete', `/Users/${id}`), 204);
    expect(await tenants.membership(own, `first@${own.domain}`)).toBeUndefined();
  });

  it('records each change with the token, without addresses in the details', async () => {
    const email = address('audited');
    const { id } = await client.user(email);
    expectStatus(await client.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false }), 200);
    const entries = await eventuallyAudited(email);
    expect(entries).toEqual([
      ['scim.user.create', 'begun', true],
      ['scim.user.update', 'ended', true],
    ]);
  });

  async function eventuallyAudited(name: string) {
    for (let attempt = 0; ; attempt++) {
      const rows = await sso.testApp.query<{ action: string; details: Record<string, unknown>; orgId: string }>(
        `SELECT action, details, org_id AS "orgId" FROM audit_entry
         WHERE action LIKE 'scim.user.%' AND details ->> 'providerId' = $1 AND resource_id IN (
           SELECT id::text FROM user_account WHERE email = $2) ORDER BY action`,
        [tenant.providerId, name],
      );
      const found = rows.map(({ action, details, orgId }) => [action, details.membership, orgId === tenant.orgId]);
      if (found.length >= 2 || attempt > 100) return found;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
});
