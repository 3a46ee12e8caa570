import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimitedError, ValidationError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { expectStatus, IdentityTestApp, PASSWORD, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner } from '../../test/users.js';
import { UsersRepository } from '../users/users.repository.js';
import { PasswordHasher } from './password-hasher.service.js';
import { PasswordVerificationService } from './password-verification.service.js';
import { CurrentPasswordWrong, HashingOverloaded, PasswordNotSet } from './password.errors.js';

const NEW_PASSWORD = 'violet umbrella tango';

describe('PasswordVerificationService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
  }, 120_000);
  afterAll(() => testApp.stop());

  const reset = (token: string, password = NEW_PASSWORD, options = {}) =>
    identity.post('/auth/reset-password', { token, password }, options);
  const worker = () => identity.app.get(WorkerDatabase);
  const findUser = async (userId: string) => {
    const user = await identity.app.get(UsersRepository, { strict: false }).findById(worker(), userId);
    if (!user) throw new Error('no user');
    return user;
  };
  const login = (email: string, password: string) => identity.post('/auth/login', { email, password });
  const mailsOf = async (email: string, subject: string) =>
    (await identity.mails(email)).filter((mail) => mail.subject === subject);

  it('locks an account after five failures, sends one mail, and refuses the correct password meanwhile', async () => {
    const partner = await registerPartner(identity);
    for (let n = 0; n < 7; n += 1) {
      await identity.post('/auth/login', { email: partner.email, password: 'wrong password' });
    }
    const locked = await identity.post('/auth/login', { email: partner.email, password: PASSWORD });
    expect(locked.status).toBe(401);
    expect(locked.body.code).toBe('login_failed');
    const mails = await identity.mails(partner.email);
    expect(mails.filter(({ subject }) => subject.includes('paused'))).toHaveLength(1);
  });

  it('evaluates five of sixty concurrent wrong passwords and sends one mail', async () => {
    const { email, userId } = await registerPartner(identity);
    const verification = identity.app.get(PasswordVerificationService, { strict: false });
    const user = await findUser(userId);
    const verify = jest.spyOn(identity.app.get(PasswordHasher, { strict: false }), 'verify');
    const refusals = await Promise.all(
      Array.from({ length: 60 }, () => verification.verifyLogin(user, 'wrong password')),
    );
    const evaluated = verify.mock.calls.filter(([hash]) => hash === user.passwordHash);
    verify.mockRestore();
    expect(evaluated).toHaveLength(5);
    expect(refusals.filter((refusal) => refusal === 'wrong_password')).toHaveLength(5);
    expect(refusals.filter((refusal) => refusal === 'locked')).toHaveLength(55);
    expect(await verification.verifyLogin(user, PASSWORD)).toBe('locked');
    const mails = await eventually(async () => {
      const sent = await mailsOf(email, 'Sign-in to your account is paused');
      expect(sent).not.toHaveLength(0);
      return sent;
    });
    expect(mails).toHaveLength(1);
  });

  it('gives an attempt back whose password could not be evaluated', async () => {
    const { userId } = await registerPartner(identity);
    const verification = identity.app.get(PasswordVerificationService, { strict: false });
    const user = await findUser(userId);
    const overloaded = jest
      .spyOn(identity.app.get(PasswordHasher, { strict: false }), 'verify')
      .mockRejectedValue(new HashingOverloaded());
    for (let n = 0; n < 7; n += 1) {
      await expect(verification.verifyLogin(user, PASSWORD)).rejects.toThrow(HashingOverloaded);
    }
    overloaded.mockRestore();
    expect(await verification.verifyLogin(user, PASSWORD)).toBeNull();
  });

  it('clears an account lock, whose mail contains a link', async () => {
    const { email } = await registerPartner(identity);
    for (let n = 0; n < 5; n += 1) await login(email, 'wrong password');
    expect((await login(email, PASSWORD)).status).toBe(401);
    const token = await eventually(async () => {
      const [mail] = await mailsOf(email, 'Sign-in to your account is paused');
      const link = /https:\/\/app\.test\/reset-password\?token=([A-Za-z0-9_-]{48})$/m.exec(mail?.text ?? '')?.[1];
      if (!link) throw new Error('no mail with a link');
      return link;
    });
    expectStatus(await reset(token), 200);
    expect((await login(email, NEW_PASSWORD)).status).toBe(200);
  });

  it('hashes a password again at login when the cost was raised', async () => {
    const { email, userId } = await registerPartner(identity);
    const hash = async () => {
      const [row] = await testApp.query<{ hash: string }>(
        'select password_hash as hash from user_account where id = $1',
        [userId],
      );
      return row?.hash ?? '';
    };
    const older = await hash();
    expect(older).toContain('m=1024');
    expectStatus(await login(email, PASSWORD), 200);
    expect(await hash()).toBe(older);
    const costly = await testApp.startReplica({ ARGON2_MEMORY_KIB: '2048' });
    expect((await costly.post('/auth/login', { email, password: 'wrong password' })).status).toBe(401);
    expect(await hash()).toBe(older);
    expectStatus(await costly.post('/auth/login', { email, password: PASSWORD }), 200);
    expect(await hash()).toContain('m=2048');
    expectStatus(await login(email, PASSWORD), 200);
  });

  it('limits proofs of the current password until one is correct', async () => {
    const verification = identity.app.get(PasswordVerificationService, { strict: false });
    const { userId } = await registerPartner(identity);
    const user = await findUser(userId);
    const verify = (password?: string) => verification.verifyCurrent({ userId } as UserCaller, user, password);
    await expect(verify()).rejects.toThrow(ValidationError);
    for (let n = 0; n < 4; n += 1) await expect(verify('wrong')).rejects.toThrow(CurrentPasswordWrong);
    await verify(PASSWORD);
    for (let n = 0; n < 5; n += 1) await expect(verify('wrong')).rejects.toThrow(CurrentPasswordWrong);
    await expect(verify(PASSWORD)).rejects.toThrow(RateLimitedError);
    const passwordless = { ...user, passwordHash: null };
    const other = { userId: randomUUID() } as UserCaller;
    await expect(verification.verifyCurrent(other, passwordless, PASSWORD)).rejects.toThrow(PasswordNotSet);
  });
});
