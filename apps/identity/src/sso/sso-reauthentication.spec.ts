import { randomUUID } from 'node:crypto';
import { HostileProvider, type Mutation } from '@rmm/testing';
import { SoftwareAuthenticator } from '@rmm/testing/software-authenticator';
import { eventually } from '@rmm/testing-services';
import { expectStatus, PASSWORD, totpCode, type TestResponse } from '../../test/identity-test-app.js';
import { finishRegistration, newAuthenticator } from '../../test/passkeys.js';
import { SsoMembers, type LinkedMember, type SsoTenant } from '../../test/sso-members.js';
import { errorOf, SsoTestApp, type SsoOwner } from '../../test/sso-test-app.js';
import { enrollTotp, sessionOf } from '../../test/users.js';

const EXPIRED = { status: 400, body: { code: 'enrollment_grant_expired', reauthUrl: '/sso/reauth' } };

describe('a fresh sign-in at the identity provider', () => {
  let sso: SsoTestApp;
  let provider: HostileProvider;
  let members: SsoMembers;
  let owner: SsoOwner;
  let tenant: SsoTenant;

  beforeAll(async () => {
    [provider, sso] = await Promise.all([HostileProvider.start(), SsoTestApp.start()]);
    owner = await sso.owner();
    members = new SsoMembers(sso, owner, provider);
    tenant = await members.tenant();
  }, 120_000);
  afterAll(async () => {
    await sso.stop();
    await provider.stop();
  });
  beforeEach(() => provider.reset());

  /** A member without a password, signed in at the provider. */
  const passwordless = async (): Promise<LinkedMember> => {
    const user = await members.linkedMember(tenant);
    await members.removePassword(user);
    return { ...user, bearer: (await members.session(tenant.orgId)).accessToken as string };
  };
  const grantFor = (user: { bearer: string }) => members.reauthenticate(user.bearer);
  const changeEmail = (ssoReauthGrantId: string | undefined, by: { bearer: string }) =>
    sso.identity.patch('/users/me', { email: `${randomUUID()}@example.com`, ssoReauthGrantId }, by);
  const startPasskey = (by: { bearer: string }, body: object) =>
    sso.identity.post('/auth/passkeys/register/options', body, by);

  it('grants once, to the session that asked, after a sign-in of the last five minutes', async () => {
    const user = await passwordless();
    const start = async () => expectStatus(await sso.identity.post('/sso/reauth', {}, user), 200);
    const started = await start();
    expect(Object.fromEntries(new URL(started.body.redirectUrl as string).searchParams)).toMatchObject({
      prompt: 'login',
      max_age: '300',
    });
    const grant = await grantFor(user);
    expect(await changeEmail(undefined, user)).toMatchObject(EXPIRED);
    const other = { bearer: (await members.session(tenant.orgId)).accessToken as string };
    expect(await changeEmail(grant, other)).toMatchObject(EXPIRED);
    expectStatus(await changeEmail(grant, user), 200);
    expect(await changeEmail(grant, user)).toMatchObject(EXPIRED);

    const refusal = async (mutation: Mutation) => {
      provider.reset(mutation);
      members.use(user);
      return errorOf(await members.follow(await start()));
    };
    const now = () => Math.floor(Date.now() / 1_000);
    expect(await refusal({ claims: (c) => ({ ...c, auth_time: now() - 600 }) })).toBe('sso_provider_unverified');
    expect(await refusal({ claims: (c) => ({ ...c, auth_time: undefined }) })).toBe('sso_provider_unverified');
    provider.reset();
    members.use({ email: user.email }); // another subject
    expect(errorOf(await members.follow(await start()))).toBe('session_invalid');
  });

  it('is the proof for a passkey of an account without a password, to register and to delete it', async () => {
    const user = await passwordless();
    for (const body of [{}, { currentPassword: PASSWORD }, { ssoReauthGrantId: randomUUID() }]) {
      expect(await startPasskey(user, body)).toMatchObject(EXPIRED);
    }
    const grant = await grantFor(user);
    const calls = await Promise.all(
      Array.from({ length: 20 }, () => startPasskey(user, { ssoReauthGrantId: grant, name: 'Key' })),
    );
    const started = calls.filter(({ status }) => status === 200);
    expect(started).toHaveLength(1);
    expect(calls.filter(({ body }) => body.code === 'enrollment_grant_expired')).toHaveLength(19);
    const options = started[0]?.body.options as Parameters<SoftwareAuthenticator['create']>[0];
    const registered = expectStatus(
      await finishRegistration(sso.identity, user, newAuthenticator().create(options)),
      200,
    );
    const session = sessionOf(registered);

    members.use(user);
    const path = `/auth/passkeys/${registered.body.passkey.id}`;
    const remove = (body: object): Promise<TestResponse> => sso.identity.call('delete', path, body, session);
    expect(await remove({ currentPassword: PASSWORD })).toMatchObject(EXPIRED);
    expect(await remove({ ssoReauthGrantId: grant })).toMatchObject(EXPIRED);
    expectStatus(await remove({ ssoReauthGrantId: await grantFor(session) }), 200);
  });

  it('is the proof to disable the second factor, and is not used up by a wrong code', async () => {
    const user = await passwordless();
    const { secret, ...session } = await enrollTotp(sso.identity, user.bearer);
    members.use(user);
    const refreshToken = session.cookies.service_refresh_token;
    const disable = (body: object) => sso.identity.post('/auth/mfa/disable', { refreshToken, ...body }, session);
    expect(await disable({ code: totpCode(secret, 1) })).toMatchObject(EXPIRED);
    const ssoReauthGrantId = await grantFor(session);
    expect(await disable({ ssoReauthGrantId, code: 'ZZZZ-ZZZZ' })).toMatchObject({
      status: 400,
      body: { code: 'mfa_code_invalid' },
    });
    expectStatus(await disable({ ssoReauthGrantId, code: totpCode(secret, 1) }), 200);
    await eventually(async () => {
      const reasons = (await sso.audited('auth.mfa.disable.failed')).map(({ details }) => details.reason as string);
      expect(reasons.sort()).toEqual(['no_reauthentication', 'wrong_code']);
    });
  });

  it('replaces no password of an account that has one', async () => {
    const user = await members.linkedMember(tenant);
    const session = { bearer: (await members.session(tenant.orgId)).accessToken as string };
    const grant = await grantFor(session);
    expect((await startPasskey(session, { ssoReauthGrantId: grant })).body.code).toBe('validation_failed');
    expect((await members.link({ ...user, ...session }, tenant.id, { currentPassword: 'wrong' })).body.code).toBe(
      'invalid_credentials',
    );
    expectStatus(await startPasskey(session, { currentPassword: PASSWORD }), 200);
  });

  it('is the proof to link an identity of another provider', async () => {
    const user = await passwordless();
    const second = await sso.provider(tenant.own, provider.issuer, { name: 'Second' });
    const link = (body: object) => sso.identity.post('/sso/link', { providerId: second, ...body }, user);
    expect(await link({})).toMatchObject(EXPIRED);
    const started = expectStatus(await link({ ssoReauthGrantId: await grantFor(user) }), 200);
    expect((await members.follow(started)).headers.location).toMatch(/#ssoLinked=true$/);
    await sso.setStatus(owner, second, 'inactive');
  });
});
