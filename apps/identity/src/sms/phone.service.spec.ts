import { expectStatus, IdentityTestApp, totpCode, type IdentityReplica } from '../../test/identity-test-app.js';
import { enableSms, freshNumber, sentCode } from '../../test/sms.js';
import { enrollTotp, registerPartner, sessionOf } from '../../test/users.js';

const invalid = { status: 400, body: { code: 'mfa_code_invalid' } };
const stepUpRequired = { status: 403, body: { code: 'existing_factor_step_up_required' } };

describe('PhoneService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
  }, 120_000);
  afterAll(() => testApp.stop());

  const request = (user: { bearer: string }, phoneNumber: string, body: object = {}) =>
    identity.post('/auth/phone/verify', { phoneNumber, ...body }, user);
  const confirm = (user: { bearer: string }, phoneNumber: string, code: string, body: object = {}) =>
    identity.post('/auth/phone/confirm', { phoneNumber, code, ...body }, user);
  const phoneOf = async (userId: string) => {
    const [row] = await testApp.query<{ phone: string | null }>(
      'select phone_number as phone from user_account where id = $1',
      [userId],
    );
    return row?.phone ?? null;
  };
  const outdateProofs = (userId: string) =>
    testApp.query(`update session_family set factor_proof_at = now() - interval '1 hour' where user_id = $1`, [userId]);

  it('sends a code that browsers offer on our pages only', async () => {
    const [user, phoneNumber] = [await registerPartner(identity), freshNumber()];
    expectStatus(await request(user, phoneNumber), 200);
    const code = await sentCode(identity, phoneNumber);
    const [message] = await identity.mails(phoneNumber);
    expect(message).toMatchObject({ channel: 'sms' });
    expect(message?.text).toBe(`${code} is your RMM code. It expires in 5 minutes.\n\n@app.test #${code}`);
  });

  it('stores the number that the code was sent to, and no other', async () => {
    const [user, phoneNumber, other] = [await registerPartner(identity), freshNumber(), freshNumber()];
    expectStatus(await request(user, phoneNumber), 200);
    const code = await sentCode(identity, phoneNumber);
    expect(await confirm(user, other, code)).toMatchObject(invalid);
    expect(await confirm(user, phoneNumber, code === '111111' ? '111112' : '111111')).toMatchObject(invalid);
    expect(await phoneOf(user.userId)).toBeNull();
    const confirmed = expectStatus(await confirm(user, phoneNumber, code), 200);
    expect(confirmed.body).toEqual({ success: true, message: 'Phone number confirmed' });
    expect(await phoneOf(user.userId)).toBe(phoneNumber);
    expect(await confirm(user, phoneNumber, code)).toMatchObject(invalid);
    expectStatus(await identity.get('/users/me', user), 200);
  });

  it('accepts a code of its own session only', async () => {
    const [user, stranger, phoneNumber] = [
      await registerPartner(identity),
      await registerPartner(identity),
      freshNumber(),
    ];
    expectStatus(await request(user, phoneNumber), 200);
    const code = await sentCode(identity, phoneNumber);
    expect(await confirm(stranger, phoneNumber, code)).toMatchObject(invalid);
    expectStatus(await confirm(user, phoneNumber, code), 200);
  });

  it.each(['0791234567', '+0791234567', '+41 79 123 45 67', '+4179123456789012', '+41', '+41abc4567', ''])(
    'refuses %j as a number',
    async (phoneNumber) => {
      const user = await registerPartner(identity);
      expect(await request(user, phoneNumber)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    },
    60_000,
  );

  it('limits codes to a number and of a user, and guesses', async () => {
    const [user, phoneNumber] = [await registerPartner(identity), freshNumber()];
    const limited = { status: 429, body: { code: 'rate_limited' } };
    for (let n = 0; n < 3; n += 1) expectStatus(await request(user, phoneNumber), 200);
    expect(await request(user, phoneNumber)).toMatchObject(limited);
    expect(await request(await registerPartner(identity), phoneNumber)).toMatchObject(limited);
    const one = await registerPartner(identity);
    for (let n = 0; n < 5; n += 1) expectStatus(await request(one, freshNumber()), 200);
    expect(await request(one, freshNumber())).toMatchObject(limited);
    for (let n = 0; n < 5; n += 1) expect(await confirm(one, phoneNumber, '000000')).toMatchObject(invalid);
    expect(await confirm(one, phoneNumber, '000000')).toMatchObject(limited);
  });

  it('requires a step-up of a user whose last proof is old', async () => {
    const user = await registerPartner(identity);
    const totp = await enrollTotp(identity, user.bearer);
    await outdateProofs(user.userId);
    const phoneNumber = freshNumber();
    expect(await request(totp, phoneNumber)).toMatchObject(stepUpRequired);
    expect(await confirm(totp, phoneNumber, '123456')).toMatchObject(stepUpRequired);
    const proof = { method: 'totp', operation: 'add_factor', code: totpCode(totp.secret) };
    const { stepUpGrantId } = expectStatus(await identity.post('/auth/mfa/step-up', proof, totp), 200).body;
    expectStatus(await request(totp, phoneNumber, { stepUpGrantId }), 200);
    const code = await sentCode(identity, phoneNumber);
    expectStatus(await confirm(totp, phoneNumber, code, { stepUpGrantId }), 200);
    // Not used up: the number is of no active factor.
    expectStatus(await request(totp, freshNumber(), { stepUpGrantId }), 200);
  });

  describe('change of the number of the active factor', () => {
    const withSms = async () => {
      const user = await registerPartner(identity);
      return { ...user, ...(await enableSms(identity, user)) };
    };

    it('needs a proof by the old number, uses its grant once and ends the other sessions', async () => {
      const user = await withSms();
      await outdateProofs(user.userId);
      const phoneNumber = freshNumber();
      expect(await request(user, phoneNumber)).toMatchObject(stepUpRequired);
      expectStatus(await identity.post('/auth/mfa/step-up/start', { method: 'sms' }, user), 200);
      const oldCode = await sentCode(identity, user.phoneNumber, 2);
      const proof = { method: 'sms', operation: 'add_factor', code: oldCode };
      const { stepUpGrantId } = expectStatus(await identity.post('/auth/mfa/step-up', proof, user), 200).body;
      expectStatus(await request(user, phoneNumber, { stepUpGrantId }), 200);
      const code = await sentCode(identity, phoneNumber);
      expect(await confirm(user, phoneNumber, code)).toMatchObject(stepUpRequired);
      const confirmed = expectStatus(await confirm(user, phoneNumber, code, { stepUpGrantId }), 200);
      expect(await phoneOf(user.userId)).toBe(phoneNumber);
      expect((await identity.get('/users/me', user)).status).toBe(401);
      const session = sessionOf(confirmed);
      expect(await request(session, freshNumber(), { stepUpGrantId })).toMatchObject(stepUpRequired);
    });

    it('proves no factor, so that it permits no other change', async () => {
      const user = await withSms();
      await testApp.query(
        `update session_family set factor_proof_at = now() - interval '9 minutes' where user_id = $1`,
        [user.userId],
      );
      const phoneNumber = freshNumber();
      expectStatus(await request(user, phoneNumber), 200);
      const confirmed = expectStatus(await confirm(user, phoneNumber, await sentCode(identity, phoneNumber)), 200);
      const [session] = await testApp.query(
        `select mfa, factor, factor_proof_at < now() - interval '8 minutes' as "isOld" from session_family
         where user_id = $1 and revoked_at is null`,
        [user.userId],
      );
      expect(session).toEqual({ mfa: true, factor: 'sms', isOld: true });
      expectStatus(await identity.get('/users/me', sessionOf(confirmed)), 200);
    });
  });
});
