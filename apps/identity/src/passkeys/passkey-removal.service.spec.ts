import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type CallOptions,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { newAuthenticator, registerPasskey, signIn, signInOptions } from '../../test/passkeys.js';
import { claimsOf, enrollTotp, inviteAndAccept, registerPartner, roleId, sessionOf } from '../../test/users.js';

describe('PasskeyRemovalService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let twin: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    [identity, twin] = await Promise.all([testApp.startReplica(), testApp.startReplica()]);
  }, 120_000);
  afterAll(() => testApp.stop());

  const remove = (id: string, caller: CallOptions, at = identity, body: object = { currentPassword: PASSWORD }) =>
    at.call('delete', `/auth/passkeys/${id}`, body, caller);
  const accountOf = async (userId: string) => {
    const [row] = await testApp.query(
      `select mfa_enabled as enabled, mfa_method as method, first_factor_at is not null as "everHadFactor",
         (select count(*)::int from passkey where user_id = user_account.id) as passkeys,
         (select count(*)::int from recovery_code where user_id = user_account.id) as codes from user_account where id = $1`,
      [userId],
    );
    return row;
  };
  const requireMfa = (partnerId: string, security: object = { requireMfa: true }) =>
    testApp.query('update partner set settings = $2 where id = $1', [partnerId, JSON.stringify({ security })]);
  const withTwo = async () => {
    const user = await registerPartner(identity);
    const first = await registerPasskey(identity, user);
    const second = await registerPasskey(identity, first);
    return { ...user, ids: [first.id, second.id], bearer: second.bearer, authenticator: second.authenticator };
  };

  it('deletes a passkey, ends the other sessions and informs the user', async () => {
    const user = await withTwo();
    const deleted = expectStatus(await remove(user.ids[0], user), 200);
    expect(deleted.body).toMatchObject({ success: true, message: 'Passkey deleted' });
    expect((await identity.get('/users/me', user)).status).toBe(401);
    const session = sessionOf(deleted);
    const { body } = expectStatus(await identity.get('/auth/passkeys', session), 200);
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([user.ids[1]]);
    expect(await accountOf(user.userId)).toMatchObject({ enabled: true, method: 'passkey', passkeys: 1, codes: 10 });
    await eventually(async () => {
      expect((await identity.mails(user.email)).map(({ subject }) => subject)).toContain('A passkey was removed');
      const rows = await testApp.query('select 1 from audit_entry where actor_id = $1 and action = $2', [
        user.userId,
        'auth.mfa.passkey.delete',
      ]);
      expect(rows).toHaveLength(1);
    });
    const again = { currentPassword: PASSWORD };
    expect((await remove(user.ids[1], session, identity, { ...again, code: '1' })).status).toBe(400);
    expectStatus(await remove(user.ids[1], session, identity, again), 200);
  });

  it('disables MFA with the last factor', async () => {
    const user = await registerPartner(identity);
    const { id, bearer, authenticator } = await registerPasskey(identity, user);
    const deleted = expectStatus(await remove(id, { bearer }), 200);
    const account = { enabled: false, method: null, everHadFactor: true, passkeys: 0, codes: 0 };
    expect(await accountOf(user.userId)).toEqual(account);
    const claims = claimsOf(sessionOf(deleted).bearer);
    expect(claims.mfa).toBe(false);
    expect((await signIn(identity, authenticator.get(await signInOptions(identity)))).status).toBe(401);
    const login = expectStatus(await identity.post('/auth/login', { email: user.email, password: PASSWORD }), 200);
    expect(login.body.mfaRequired).toBe(false);
  });

  it('makes the authenticator app primary when the last passkey goes', async () => {
    const user = await registerPartner(identity);
    const first = await registerPasskey(identity, user);
    const totp = await enrollTotp(identity, first.bearer);
    await testApp.query(`update user_account set mfa_method = 'passkey' where id = $1`, [user.userId]);
    expectStatus(await remove(first.id, totp), 200);
    expect(await accountOf(user.userId)).toMatchObject({ enabled: true, method: 'totp', passkeys: 0 });
    const login = await identity.post('/auth/login', { email: user.email, password: PASSWORD });
    expect(login.body).toMatchObject({ mfaMethod: 'totp', passkeyAvailable: false });
    const code = totpCode(totp.secret);
    expectStatus(await identity.post('/auth/mfa/verify', { tempToken: login.body.tempToken, code }), 200);
  });

  it('needs a session with MFA and the current password', async () => {
    const user = await withTwo();
    await testApp.query('update session_family set mfa = false where user_id = $1', [user.userId]);
    const wrong = await remove(user.ids[0], user, identity, { currentPassword: 'wrong' });
    expect(wrong).toMatchObject({ status: 400, body: { code: 'invalid_credentials' } });
    expect((await remove(user.ids[0], user, identity, {})).status).toBe(400);
    const partner = await registerPartner(identity);
    const refused = await remove(user.ids[0], partner);
    expect(refused).toMatchObject({ status: 403, body: { code: 'mfa_required' } });
  });

  it('finds no passkey of another user, to delete or to rename', async () => {
    const [user, other] = [await withTwo(), await withTwo()];
    const missing = { status: 404, body: { code: 'not_found', error: 'Passkey not found' } };
    expect(await remove(user.ids[0], other)).toMatchObject(missing);
    const rename = (id: string, caller: CallOptions, name = 'Taken') => identity.patch(`/auth/passkeys/${id}`, { name }, caller); // prettier-ignore
    expect(await rename(user.ids[0], other)).toMatchObject(missing);
    expect(await rename('x', other)).toMatchObject(missing);
    expect((await rename(user.ids[0], user, '')).status).toBe(400);
    const renamed = expectStatus(await rename(user.ids[0], user, 'Key in the safe'), 200);
    expect(renamed.body).toMatchObject({ success: true, passkey: { id: user.ids[0], name: 'Key in the safe' } });
  });

  it('keeps the last factor that a policy requires, also of concurrent deletions', async () => {
    const user = await withTwo();
    await requireMfa(user.partnerId);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => remove(user.ids[n % 2], user, n % 3 ? twin : identity)),
    );
    const [deleted, ...others] = responses.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    expect(await accountOf(user.userId)).toMatchObject({ enabled: true, passkeys: 1 });
    const session = sessionOf(deleted);
    const { body } = expectStatus(await identity.get('/auth/passkeys', session), 200);
    const refused = await remove(body.data[0].id as string, session);
    expect(refused).toMatchObject({ status: 403, body: { code: 'mfa_required_by_policy' } });
    expect(await accountOf(user.userId)).toMatchObject({ enabled: true, method: 'passkey', passkeys: 1, codes: 10 });
  });

  it('keeps a passkey whose only alternative the policy excludes', async () => {
    const user = await registerPartner(identity);
    const passkey = await registerPasskey(identity, user);
    const totp = await enrollTotp(identity, passkey.bearer);
    await requireMfa(user.partnerId, { requireMfa: true, allowedMfaMethods: { totp: false } });
    const refused = await remove(passkey.id, totp);
    expect(refused).toMatchObject({ status: 403, body: { code: 'mfa_required_by_policy' } });
  });

  it('deletes passkeys with a reset of MFA by an administrator and with their account', async () => {
    const admin = await registerPartner(identity);
    const { bearer } = await enrollTotp(identity, admin.bearer);
    const role = await roleId(identity, bearer, 'Partner Viewer');
    const member = await inviteAndAccept(identity, bearer, { roleId: role });
    const { authenticator } = await registerPasskey(identity, member, newAuthenticator());
    const credential = authenticator.get(await signInOptions(identity));
    expectStatus(await identity.post(`/users/${member.userId}/mfa/reset`, {}, { bearer }), 200);
    expect(await accountOf(member.userId)).toMatchObject({ enabled: false, method: null, passkeys: 0, codes: 0 });
    expect((await signIn(identity, credential)).status).toBe(401);
    await registerPasskey(identity, sessionOf(await identity.post('/auth/login', { email: member.email, password: PASSWORD }))); // prettier-ignore
    await testApp.query('delete from user_account where id = $1', [member.userId]);
    expect(await testApp.query('select 1 from passkey where user_id = $1', [member.userId])).toEqual([]);
  });
});
