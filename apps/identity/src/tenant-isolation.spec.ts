import { TenantDatabase, type HasTenant } from '@rmm/persistence';
import { IdentityTestApp, type IdentityReplica } from '../test/identity-test-app.js';
import { registerPasskey } from '../test/passkeys.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, type TestUser } from '../test/users.js';

const INSUFFICIENT_PRIVILEGE = '42501';

/** Tables whose rows belong to users of another partner, with a statement that forgets its WHERE clause. */
const UNRESTRICTED = [
  ['partner', `UPDATE partner SET name = 'taken'`],
  ['organization_security_policy', `UPDATE organization_security_policy SET settings = '{}'`],
  ['user_account', `UPDATE user_account SET name = 'taken'`],
  ['partner_membership', `UPDATE partner_membership SET org_access = 'none'`],
  ['partner_membership', 'DELETE FROM partner_membership'],
  ['organization_membership', 'UPDATE organization_membership SET site_ids = NULL'],
  ['organization_membership', 'DELETE FROM organization_membership'],
  ['session_family', `UPDATE session_family SET revoked_at = now(), revoked_reason = 'logout'`],
  ['totp_factor', 'DELETE FROM totp_factor'],
  ['passkey', `UPDATE passkey SET name = 'taken'`],
  ['passkey', 'DELETE FROM passkey'],
  ['recovery_code', 'DELETE FROM recovery_code'],
  ['invitation', `UPDATE invitation SET expires_at = now() + interval '1 year'`],
  ['invitation', 'DELETE FROM invitation'],
  ['role', `UPDATE role SET name = 'taken'`],
  ['member_count', 'UPDATE member_count SET members = 0'],
] as const;

const USER_TABLES = ['session_family', 'totp_factor', 'passkey', 'recovery_code'];

const SESSION = `
  INSERT INTO session_family (id, user_id, scope, mfa, method, auth_epoch, mfa_epoch, absolute_expires_at)
  VALUES (gen_random_uuid(), $1, 'partner', true, 'password', 1, 1, now() + interval '1 day')`;

describe('an administrator of another partner', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let tenants: TenantDatabase;
  let owner: TestUser;
  let member: TestUser;
  let memberRole: string;
  let attacker: HasTenant;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    tenants = identity.app.get(TenantDatabase);
    owner = await registerPartner(identity);
    memberRole = await roleId(identity, owner.bearer, 'Partner Viewer');
    member = await inviteAndAccept(identity, owner.bearer, { roleId: memberRole });
    const { bearer } = await enrollTotp(identity, member.bearer);
    await registerPasskey(identity, { bearer });
    await testApp.query(
      `WITH org AS (INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
                    VALUES (gen_random_uuid(), $1, 'Org', 'org', 'active', 1) RETURNING org_id AS id),
         policy AS (INSERT INTO organization_security_policy (org_id, partner_id) SELECT id, $1 FROM org)
       INSERT INTO organization_membership (partner_id, org_id, user_id, role_id, site_ids)
       SELECT $1, id, $2, $3, '{}' FROM org`,
      [owner.partnerId, member.userId, memberRole],
    );
    await testApp.query(`INSERT INTO role (partner_id, scope, name) VALUES ($1, 'partner', 'Custom')`, [
      owner.partnerId,
    ]);
    const other = await registerPartner(identity, 'Other MSP');
    attacker = asAdmin(other);
  }, 120_000);
  afterAll(() => testApp.stop());

  const asAdmin = ({ partnerId, userId }: TestUser): HasTenant => ({
    tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId },
  });
  const run = (caller: HasTenant, sql: string, params: unknown[] = []) =>
    tenants.transaction(caller, (tx) => tx.query(sql, params));
  /** Rows of the first partner and of its users, whatever their table calls their owner. */
  const rowsOf = (table: string) => {
    const users = `(SELECT user_id FROM partner_membership WHERE partner_id = '${owner.partnerId}')`;
    const owned: Record<string, string> = { partner: 'id', user_account: 'id' };
    const column = owned[table] ?? (USER_TABLES.includes(table) ? 'user_id' : 'partner_id');
    const isUser = table === 'user_account' || column === 'user_id';
    return testApp.query(
      `SELECT to_jsonb(t) AS row FROM ${table} t
       WHERE t.${column} ${isUser ? `IN ${users}` : `= '${owner.partnerId}'`} ORDER BY 1`,
    );
  };

  it.each(UNRESTRICTED)('changes no row of %s by %s', async (table, sql) => {
    const before = await rowsOf(table);
    expect(before.length).toBeGreaterThan(0);
    await run(attacker, sql).catch((error: { code?: string }) => expect(error.code).toBe(INSUFFICIENT_PRIVILEGE));
    expect(await rowsOf(table)).toEqual(before);
  });

  it('reads no user, membership, session or factor', async () => {
    for (const table of [
      'partner_membership',
      'session_family',
      'totp_factor',
      'passkey',
      'recovery_code',
      'invitation',
    ]) {
      const rows = await tenants.read(attacker, `SELECT user_id FROM ${table} WHERE user_id = $1`, [member.userId]);
      expect(rows).toEqual([]);
    }
    expect(await tenants.read(attacker, 'SELECT id FROM user_account WHERE id = $1', [member.userId])).toEqual([]);
  });

  it.each([
    [
      'a membership in the partner',
      `INSERT INTO partner_membership (partner_id, user_id, role_id) VALUES ($1, $2, $3)`,
      () => [owner.partnerId, attacker.tenant.userId, memberRole],
    ],
    [
      'an invitation to the partner',
      `INSERT INTO invitation (user_id, email, name, partner_id, role_id, token_hash, mailed, expires_at)
       VALUES ($1, 'a@users.test', 'A', $2, $3, '\\x00', true, now())`,
      () => [attacker.tenant.userId, owner.partnerId, memberRole],
    ],
    ['a session of its user', SESSION, () => [member.userId]],
    [
      'an account that is active at once',
      `INSERT INTO user_account (email, name, status) VALUES ('active@users.test', 'Active', 'active')`,
      () => [],
    ],
    [
      'an account with a password',
      `INSERT INTO user_account (email, name, password_hash) VALUES ('password@users.test', 'Password', 'x')`,
      () => [],
    ],
    [
      'a platform administrator',
      `INSERT INTO user_account (email, name, is_platform_admin) VALUES ('root@users.test', 'Root', true)`,
      () => [],
    ],
  ])('cannot insert %s', async (_, sql, params) => {
    await expect(run(attacker, sql, params())).rejects.toMatchObject({ code: INSUFFICIENT_PRIVILEGE });
  });

  it('of the same partner may revoke the sessions of a member and change nothing else of them', async () => {
    const admin = asAdmin(owner);
    const extend = `UPDATE session_family SET absolute_expires_at = now() + interval '1 year' WHERE user_id = $1`;
    await expect(run(admin, extend, [member.userId])).rejects.toMatchObject({ code: INSUFFICIENT_PRIVILEGE });
    const revoke = 'UPDATE session_family SET revoked_at = now() WHERE user_id = $1 RETURNING id';
    expect((await run(admin, revoke, [member.userId])).length).toBeGreaterThan(0);
  });
});
