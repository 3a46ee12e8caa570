import { WorkerDatabase } from '@rmm/persistence';
import { MetricsRegistry } from '@rmm/service-kit';
import { ADMIN, freshEmail, type IdentityReplica, IdentityTestApp, PASSWORD } from '../../test/identity-test-app.js';
import { registerPartner } from '../../test/users.js';
import type { User } from '../users/user.types.js';
import type { EnteredTenant } from './address-list.policy.js';
import { LoginAuditService } from './login-audit.service.js';

describe('LoginAuditService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
  }, 120_000);
  afterAll(() => testApp.stop());

  const valueOf = async (name: string, labels: Record<string, string> = {}) => {
    const metric = await identity.app.get(MetricsRegistry).registry.getSingleMetric(name)?.get();
    const match = metric?.values.find((one) =>
      Object.entries(labels).every(([label, value]) => one.labels[label] === value),
    );
    return match?.value ?? 0;
  };
  const logins = (outcome: string) => valueOf('rmm_logins_total', { method: 'password', outcome });
  const login = (email: string, password: string) => identity.post('/auth/login', { email, password });

  it('counts a login once it is stored', async () => {
    const before = await logins('accepted');
    expect((await login(ADMIN.email, ADMIN.password)).status).toBe(200);
    expect(await logins('accepted')).toBe(before + 1);
  });

  it('does not count a login whose transaction is rolled back', async () => {
    const before = await logins('accepted');
    const { userId, email } = await registerPartner(identity);
    const user = { id: userId, email, name: 'Pat' } as User;
    const membership = { scope: 'system', partnerId: null, orgId: null } as unknown as EnteredTenant;
    const record = (fail: boolean) =>
      identity.app.get(WorkerDatabase).transaction(async (tx) => {
        await identity.app.get(LoginAuditService).recordLogin(tx, user, membership, { method: 'password', mfa: false });
        if (fail) throw new Error('rolled back');
      });
    await expect(record(true)).rejects.toThrow('rolled back');
    expect(await logins('accepted')).toBe(before);
    await record(false);
    expect(await logins('accepted')).toBe(before + 1);
  });

  it('counts the reason of a refusal, which the response does not name', async () => {
    const { email } = await registerPartner(identity);
    const before = await Promise.all([logins('unknown_address'), logins('wrong_password')]);
    await login(freshEmail(), PASSWORD);
    await login(email, 'wrong-horse-battery-1');
    expect(await Promise.all([logins('unknown_address'), logins('wrong_password')])).toEqual(before.map((n) => n + 1));
  });

  it('counts a locked account once, and the attempts on it as locked', async () => {
    const { email } = await registerPartner(identity);
    const [locks, locked] = [await valueOf('rmm_account_locks_total'), await logins('locked')];
    for (let attempt = 0; attempt < 7; attempt++) await login(email, 'wrong-horse-battery-1');
    expect(await valueOf('rmm_account_locks_total')).toBe(locks + 1);
    expect(await logins('locked')).toBeGreaterThan(locked);
  });
});
