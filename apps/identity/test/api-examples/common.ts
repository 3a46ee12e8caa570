import { eventually } from '@rmm/testing-services';
import { cookiesOf, expectStatus, freshEmail, PASSWORD, totpCode, type IdentityReplica } from '../identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, signInAdmin } from '../users.js';

/** Calls operations of several features, those with several response shapes once for each. */
export async function callCommonExamples(identity: IdentityReplica): Promise<void> {
  await identity.get('/config');
  await identity.get('/auth/.well-known/jwks.json');
  const newcomer = { email: freshEmail(), password: PASSWORD, name: 'Kim Hale' };
  await identity.post('/auth/register', newcomer);

  const root = await signInAdmin(identity);
  for (const path of ['/users/me', '/auth/me', '/orgs/partners', '/audit-logs/verify']) {
    await identity.get(path, { bearer: root });
  }
  const admin = { email: freshEmail(), name: 'Lou Marsh' };
  const created = await identity.post('/orgs/partners', { name: 'Made MSP', admin }, { bearer: root });
  await identity.get(`/orgs/partners/${created.body.id}`, { bearer: root });
  await identity.post('/auth/invite/preview', { token: await identity.mailedToken(admin.email) });

  const { email, partnerId, bearer: first } = await registerPartner(identity);
  await registerTwice(identity);
  const { bearer, secret, recoveryCodes } = await enrollTotp(identity, first);
  await identity.get('/users/me', { bearer });
  await identity.get('/auth/me', { bearer });
  await identity.get('/orgs/partners/me', { bearer });
  await identity.patch('/orgs/partners/me', { settings: { theme: 'dark' } }, { bearer });
  await identity.get('/roles', { bearer });
  const viewer = await roleId(identity, bearer, 'Partner Viewer');
  const technician = await roleId(identity, bearer, 'Partner Technician');
  const member = await inviteAndAccept(identity, bearer, { roleId: viewer });
  await identity.get('/users', { bearer });
  await identity.get(`/users/${member.userId}`, { bearer });
  await eventually(async () => {
    const { body } = await identity.get('/audit-logs', { bearer });
    if (body.data.length === 0) throw new Error('no audit row is sealed yet');
  });
  await identity.get('/audit-logs/verify', { bearer });

  const switched = await identity.post('/auth/switch', { partnerId }, member);
  expectStatus(switched, 200);
  await identity.post(`/users/${member.userId}/role`, { roleId: technician }, { bearer });
  const cookies = cookiesOf(switched);
  await identity.post(
    '/auth/refresh',
    {},
    { cookies, headers: { 'x-service-csrf': cookies.service_csrf_token ?? '' } },
  );
  const again = await identity.post('/auth/login', { email: member.email, password: PASSWORD });
  const { service_refresh_token: refreshToken } = cookiesOf(again);
  const kept = await identity.post('/auth/refresh', { refreshToken });
  const change = { currentPassword: PASSWORD, newPassword: 'another-horse-battery-8' };
  await identity.post('/auth/change-password', change, { bearer: kept.body.tokens.accessToken as string });

  for (const code of [recoveryCodes[0], totpCode(secret, 1)]) {
    const { body } = await identity.post('/auth/login', { email, password: PASSWORD });
    const verified = await identity.post('/auth/mfa/verify', { code, tempToken: body.tempToken });
    expectStatus(verified, 200);
  }
  await identity.post('/auth/logout', undefined, { bearer: root });
}

/** Registers one address twice: the second confirmation asks the user to log in. */
async function registerTwice(identity: IdentityReplica): Promise<void> {
  const form = { companyName: 'Twice MSP', password: PASSWORD, name: 'Pat Morgan', acceptTerms: true };
  const email = freshEmail();
  await identity.post('/auth/register-partner', { ...form, email });
  const first = await identity.mailedToken(email);
  expectStatus(await identity.post('/auth/verify-email', { token: first }), 200);
  await identity.post('/auth/register-partner', { ...form, email });
  const second = await identity.mailedToken(email, 2);
  expectStatus(await identity.post('/auth/verify-email', { token: second }), 200);
  // Signed in, without a temporary token, a code confirms the setup.
  const { body } = await identity.post('/auth/login', { email, password: PASSWORD });
  const bearer = body.tokens.accessToken as string;
  const setup = await identity.post('/auth/mfa/setup', undefined, { bearer });
  const code = totpCode(setup.body.secret as string);
  expectStatus(await identity.post('/auth/mfa/verify', { code }, { bearer }), 200);
}
