import { randomBytes } from 'node:crypto';
import { TenantDatabase, WorkerDatabase, type TenantTransaction, type WorkerTransaction } from '@rmm/persistence';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, type TestUser } from '../../test/users.js';
import { MfaRepository } from './mfa.repository.js';

describe('MfaRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let repository: MfaRepository;
  let worker: WorkerDatabase;
  let tenants: TenantDatabase;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    repository = identity.app.get(MfaRepository, { strict: false });
    worker = identity.app.get(WorkerDatabase);
    tenants = identity.app.get(TenantDatabase);
  }, 120_000);
  afterAll(() => testApp.stop());

  const run = <T>(work: (tx: WorkerTransaction) => Promise<T>) => worker.transaction(work);
  /** Runs as the user: the worker login may not change factors. */
  const runAs = <T>({ partnerId, userId }: TestUser, work: (tx: TenantTransaction) => Promise<T>) => {
    const tenant = { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId } as const;
    return tenants.transaction({ tenant }, work);
  };
  const register = () => registerPartner(identity);
  const accountOf = async (userId: string) => {
    const [row] = await testApp.query(
      `select mfa_enabled as enabled, mfa_method as method, mfa_epoch as epoch, phone_number as phone,
         first_factor_at is not null as "everHadFactor" from user_account where id = $1`,
      [userId],
    );
    return row;
  };
  const hashes = () => [randomBytes(32), randomBytes(32)];
  const enable = async (user: TestUser) => {
    await runAs(user, (tx) => repository.insertTotp(tx, user.userId, 'sealed'));
    const epochs = await runAs(user, (tx) => repository.markEnabled(tx, user.userId, 'totp'));
    return epochs?.mfaEpoch ?? -1;
  };

  it('stores one authenticator app per user', async () => {
    const user = await register();
    const insert = (sealed: string) => runAs(user, (tx) => repository.insertTotp(tx, user.userId, sealed));
    expect(await repository.hasTotp(worker, user.userId)).toBe(false);
    expect(await insert('first')).toBe(true);
    expect(await insert('second')).toBe(false);
    expect(await repository.findTotpSecret(worker, user.userId)).toBe('first');
    expect(await repository.findTotpSecret(worker, (await register()).userId)).toBeNull();
  });

  it('replaces recovery codes and uses each once', async () => {
    const [user, other] = [await register(), await register()];
    const { userId } = user;
    const [old, codes] = [hashes(), hashes()];
    await runAs(user, (tx) => repository.replaceRecoveryCodes(tx, userId, old));
    await runAs(user, (tx) => repository.replaceRecoveryCodes(tx, userId, codes));
    expect(await repository.hasRecoveryCode(worker, userId, old[0])).toBe(false);
    expect(await repository.hasRecoveryCode(worker, userId, codes[0])).toBe(true);
    expect(await repository.countRecoveryCodes(worker, userId)).toBe(codes.length);
    expect(await run((tx) => repository.useRecoveryCode(tx, other.userId, codes[0]))).toBe(false);
    const used = await Promise.all([1, 2].map(() => run((tx) => repository.useRecoveryCode(tx, userId, codes[0]))));
    expect(used.sort()).toEqual([false, true]);
    expect(await repository.hasRecoveryCode(worker, userId, codes[1])).toBe(true);
    expect(await repository.countRecoveryCodes(worker, userId)).toBe(codes.length - 1);
  });

  it('enables the factor of an active account and increments its epoch', async () => {
    const user = await register();
    const { userId } = user;
    const epoch = await enable(user);
    expect(await accountOf(userId)).toEqual({ enabled: true, method: 'totp', epoch, phone: null, everHadFactor: true });
    await testApp.query(`update user_account set status = 'disabled' where id = $1`, [userId]);
    expect(await runAs(user, (tx) => repository.markEnabled(tx, userId, 'totp'))).toBeNull();
  });

  it('clears every factor by the epoch that was read and remembers that there was one', async () => {
    const user = await register();
    const { userId } = user;
    const epoch = await enable(user);
    await testApp.query(`update user_account set phone_number = '+4915112345678' where id = $1`, [userId]);
    await runAs(user, (tx) => repository.replaceRecoveryCodes(tx, userId, hashes()));
    expect(await runAs(user, (tx) => repository.clear(tx, userId, epoch - 1))).toBeNull();
    expect(await repository.hasTotp(worker, userId)).toBe(true);
    const cleared = await Promise.all([1, 2].map(() => runAs(user, (tx) => repository.clear(tx, userId, epoch))));
    expect(cleared.filter((epochs) => epochs !== null)).toEqual([expect.objectContaining({ mfaEpoch: epoch + 1 })]);
    const account = { enabled: false, method: null, epoch: epoch + 1, phone: null, everHadFactor: true };
    expect(await accountOf(userId)).toEqual(account);
    expect(await repository.hasTotp(worker, userId)).toBe(false);
    expect(await testApp.query('select 1 from recovery_code where user_id = $1', [userId])).toEqual([]);
  });

  it('increments the epoch of an account with a factor once per epoch read', async () => {
    const user = await register();
    const increment = (epoch: number) => runAs(user, (tx) => repository.incrementEpoch(tx, user.userId, epoch));
    expect(await increment(0)).toBeNull();
    const epoch = await enable(user);
    expect(await increment(epoch)).toMatchObject({ mfaEpoch: epoch + 1 });
    expect(await increment(epoch)).toBeNull();
  });

  it('opens an enrollment window once and none after a factor', async () => {
    const { userId } = await register();
    const first = await run((tx) => repository.openWindow(tx, userId, 14));
    expect(first.opened).toBe(true);
    const days = ((first.enrollmentDeadline?.getTime() ?? 0) - (first.graceGrantedAt?.getTime() ?? 0)) / 86_400_000;
    expect(Math.round(days)).toBe(14);
    expect(await run((tx) => repository.openWindow(tx, userId, 30))).toEqual({ ...first, opened: false });

    const enrolled = await register();
    await enable(enrolled);
    const none = { opened: false, graceGrantedAt: null, enrollmentDeadline: null };
    expect(await run((tx) => repository.openWindow(tx, enrolled.userId, 14))).toEqual(none);
  });

  it('lists windows that end within three days by the current days of the partner, in batches', async () => {
    const { userId, partnerId } = await register();
    const { userId: other } = await register();
    await testApp.query('update user_account set mfa_enrollment_deadline = null');
    for (const id of [userId, other]) await run((tx) => repository.openWindow(tx, id, 14));
    expect(await repository.listEndingSoon(worker, null, 10)).toEqual([]);
    await testApp.query(`update partner set settings = '{"security": {"mfaEnrollmentGraceDays": 2}}' where id = $1`, [
      partnerId,
    ]);
    expect(await repository.listEndingSoon(worker, null, 10)).toEqual([userId]);
    await testApp.query(`update user_account set mfa_enrollment_deadline = now() + interval '1 day' where id = $1`, [
      other,
    ]);
    const ids = [userId, other].sort();
    expect(await repository.listEndingSoon(worker, null, 10)).toEqual(ids);
    expect(await repository.listEndingSoon(worker, null, 1)).toEqual([ids[0]]);
    expect(await repository.listEndingSoon(worker, ids[0] ?? null, 10)).toEqual([ids[1]]);

    const claims = await Promise.all([1, 2].map(() => run((tx) => repository.claimReminder(tx, userId))));
    expect(claims.sort()).toEqual([false, true]);
    expect(await repository.listEndingSoon(worker, null, 10)).toEqual([other]);
  });
});
