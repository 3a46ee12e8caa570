import { WorkerDatabase } from '@rmm/persistence';
import { RateLimitedError } from '@rmm/service-kit';
import { IdentityTestApp, totpCode, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, registerProtectedPartner } from '../../test/users.js';
import { MfaCodesService } from './mfa-codes.service.js';
import { newTotpSecret } from './totp.js';

describe('MfaCodesService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let codes: MfaCodesService;
  let worker: WorkerDatabase;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    codes = identity.app.get(MfaCodesService, { strict: false });
    worker = identity.app.get(WorkerDatabase);
  }, 120_000);
  afterAll(() => testApp.stop());

  const enrolled = () => registerProtectedPartner(identity);
  const useCode = (userId: string, code: string) => worker.transaction((tx) => codes.useRecoveryCode(tx, userId, code));

  it("accepts a code of the user's authenticator app once", async () => {
    const [user, other] = [await enrolled(), await enrolled()];
    const code = totpCode(user.secret, 1);
    expect(await codes.verifyTotp(worker, user.userId, totpCode(newTotpSecret()))).toBe(false);
    expect(await codes.verifyTotp(worker, other.userId, code)).toBe(false);
    expect(await codes.verifyTotp(worker, user.userId, code)).toBe(true);
    expect(await codes.verifyTotp(worker, user.userId, code)).toBe(false);
    const without = await registerPartner(identity);
    expect(await codes.verifyTotp(worker, without.userId, code)).toBe(false);
  });

  it('accepts a time step once for stored and new secrets alike', async () => {
    const user = await enrolled();
    const secret = newTotpSecret();
    const code = totpCode(user.secret, 1);
    expect(await codes.verifySecret(user.userId, secret, totpCode(secret, 1))).toBe(true);
    expect(await codes.verifyTotp(worker, user.userId, code)).toBe(false);
  });

  it('verifies a recovery code without using it and uses it once', async () => {
    const user = await enrolled();
    const [code = ''] = user.recoveryCodes;
    const typed = ` ${code.toLowerCase()} `;
    expect(await codes.verifyRecoveryCode(worker, user.userId, typed)).toBe(true);
    expect(await codes.verifyRecoveryCode(worker, user.userId, 'AAAA')).toBe(false);
    expect(await useCode((await enrolled()).userId, code)).toBe(false);
    expect(await useCode(user.userId, typed)).toBe(true);
    expect(await useCode(user.userId, code)).toBe(false);
    expect(await codes.verifyRecoveryCode(worker, user.userId, code)).toBe(false);
  });

  it('limits attempts per user until they are cleared', async () => {
    const [user, other] = ['limited-user', 'other-user'];
    for (let n = 0; n < 5; n += 1) await codes.countAttempt(user);
    await expect(codes.countAttempt(user)).rejects.toThrow(RateLimitedError);
    await codes.countAttempt(other);
    await codes.clearAttempts(user);
    await codes.countAttempt(user);
  });

  it('seals a secret for its user', () => {
    const sealed = codes.sealSecret('user', 'JBSWY3DPEHPK3PXP');
    expect(sealed).toMatch(/^v1\./);
    expect(sealed).not.toContain('JBSWY3DPEHPK3PXP');
  });
});
