import { randomUUID } from 'node:crypto';
import { TenantDatabase, WorkerDatabase, type HasTenant, type TenantTransaction } from '@rmm/persistence';
import { eventually } from '@rmm/testing-services';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, type TestUser } from '../../test/users.js';
import { SecurityPoliciesRepository } from './security-policies.repository.js';

describe('SecurityPoliciesRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let policies: SecurityPoliciesRepository;
  let owner: TestUser;
  let stranger: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    policies = identity.app.get(SecurityPoliciesRepository);
    owner = await registerPartner(identity);
    stranger = await registerPartner(identity, 'Other MSP');
  }, 120_000);
  afterAll(() => testApp.stop());

  const callerOf = ({ partnerId, userId }: TestUser): HasTenant => ({
    tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId },
  });
  const run = <T>(work: (tx: TenantTransaction) => Promise<T>, as = owner) =>
    identity.app.get(TenantDatabase).transaction(callerOf(as), work);
  const save = (orgId: string, sessionLifetimeHours: number, as = owner) =>
    run((tx) => policies.save(tx, { orgId, partnerId: as.partnerId, security: { sessionLifetimeHours } }), as);

  /** Returns the id of an organization that the directory knows. */
  const createOrganization = async () => {
    const orgId = randomUUID();
    await testApp.query(
      `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
       VALUES ($1, $2, 'Customer', $3, 'active', 1)`,
      [orgId, owner.partnerId, `customer-${orgId}`],
    );
    return orgId;
  };

  it('rejects the policy of an organization with another partner', async () => {
    const orgId = await createOrganization();
    await expect(save(orgId, 1, stranger)).rejects.toMatchObject({ code: '23503' });
  });

  it('returns an empty policy of version 0, then what was saved with its version', async () => {
    const orgId = await createOrganization();
    expect(await run((tx) => policies.find(tx, orgId))).toEqual({ security: {}, version: 0 });
    expect([await save(orgId, 8), await save(orgId, 12)]).toEqual([1, 2]);
    expect(await run((tx) => policies.find(tx, orgId))).toEqual({ security: { sessionLifetimeHours: 12 }, version: 2 });
  });

  it('neither shows nor changes the policy of an organization of another partner', async () => {
    const orgId = await createOrganization();
    await save(orgId, 8);
    expect(await run((tx) => policies.find(tx, orgId), stranger)).toEqual({ security: {}, version: 0 });
    await expect(save(orgId, 1, stranger)).resolves.toBeNull();
    expect(await run((tx) => policies.find(tx, orgId))).toMatchObject({ security: { sessionLifetimeHours: 8 } });
  });

  it('counts active users without any factor that both policies allow', async () => {
    const admin = await registerPartner(identity);
    const { partnerId, userId } = admin;
    const count = (allowedMfaMethods: { totp?: boolean; sms?: boolean }) =>
      run((tx) => policies.countLockedOut(tx, { partnerId, partnerPolicy: { allowedMfaMethods } }), admin);
    expect(await count({ totp: false, sms: false })).toEqual({ count: 0, countCapped: false });
    await testApp.query(`UPDATE user_account SET mfa_enabled = TRUE, mfa_method = 'sms' WHERE id = $1`, [userId]);
    expect(await count({ totp: false })).toMatchObject({ count: 0 });
    expect(await count({ sms: false })).toMatchObject({ count: 1 });
    await testApp.query(`INSERT INTO totp_factor (user_id, secret_sealed) VALUES ($1, 'sealed')`, [userId]);
    expect(await count({ sms: false })).toMatchObject({ count: 0 });
    expect(await count({ totp: false, sms: false })).toMatchObject({ count: 1 });
    await testApp.query(
      `INSERT INTO passkey (user_id, credential_id, public_key, counter, name, device_type, backed_up)
       VALUES ($1, '\\x01', '\\x00', 0, 'Key', 'singleDevice', FALSE)`,
      [userId],
    );
    expect(await count({ totp: false, sms: false })).toMatchObject({ count: 0 });
    await testApp.query('DELETE FROM passkey WHERE user_id = $1', [userId]);
    await testApp.query(`UPDATE user_account SET status = 'disabled' WHERE id = $1`, [userId]);
    expect(await count({ totp: false, sms: false })).toMatchObject({ count: 0 });
  });

  it('finds an organization of the partner that excludes each of the given methods', async () => {
    const { partnerId, ...user } = await registerPartner(identity);
    const excludes = (methods: string[]) =>
      run((tx) => policies.excludesAll(tx, partnerId, methods), { partnerId, ...user });
    expect(await excludes(['sms'])).toBe(false);
    const orgId = randomUUID();
    await testApp.query(
      `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
       VALUES ($1, $2, 'Customer', $3, 'active', 1)`,
      [orgId, partnerId, `customer-${orgId}`],
    );
    const security = { allowedMfaMethods: { sms: false } };
    await run((tx) => policies.save(tx, { orgId, partnerId, security }), { partnerId, ...user });
    expect(await excludes(['sms'])).toBe(true);
    expect(await excludes(['sms', 'totp'])).toBe(false);
    await testApp.query('UPDATE organization_directory SET deleted = TRUE WHERE org_id = $1', [orgId]);
    expect(await excludes(['sms'])).toBe(false);
  });

  it('lets no policy of a user change while its policies are locked', async () => {
    let release = () => undefined as void;
    const finished = new Promise<void>((resolve) => (release = resolve));
    const order: string[] = [];
    const reader = identity.app.get(WorkerDatabase).transaction(async (tx) => {
      await policies.lockPoliciesOf(tx, owner.userId);
      order.push('locked');
      await finished;
      order.push('released');
    });
    await eventually(() => expect(order).toEqual(['locked']));
    await run((tx) => policies.lockForChange(tx, stranger.partnerId), stranger);
    const change = run(async (tx) => {
      await policies.lockForChange(tx, owner.partnerId);
      order.push('changed');
    });
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`;
    await eventually(async () => expect(await testApp.query(waiting)).toHaveLength(1));
    release();
    await Promise.all([reader, change]);
    expect(order).toEqual(['locked', 'released', 'changed']);
  });
});
