import {
  ApiClient,
  MailboxClient,
  PASSWORD,
  enrollTotp,
  connectToFleet,
  registerPartner,
  signInAdmin,
  totpCode,
} from '@rmm/testing';
import { must } from '../steps.js';

describe('a partner admin', () => {
  const fleet = connectToFleet();
  const anonymous = () => new ApiClient(fleet.baseUrl);

  it('is created by the platform administrator, accepts the invitation, and signs in with password and TOTP', async () => {
    const admin = await signInAdmin(fleet);
    const email = `made-${Date.now()}@partner.test`;
    const partner = { name: `Made ${Date.now()}`, admin: { email, name: 'Ada Admin' } };
    const created = must(await admin.post('/orgs/partners', partner), 201);
    expect(created).toMatchObject({ name: partner.name, status: 'active', invite: { inviteEmailSent: true } });
    const token = await new MailboxClient(fleet.mailboxUrl).token(email);
    const accepted = must(await anonymous().post('/auth/accept-invite', { token, password: PASSWORD }), 200);
    const { secret } = await enrollTotp(anonymous().as({ bearer: accepted.tokens.accessToken as string }));

    const login = must(await anonymous().post('/auth/login', { email, password: PASSWORD }), 200);
    expect(login).toMatchObject({ mfaRequired: true, mfaMethod: 'totp', user: null, tokens: null });
    const code = totpCode(secret, 1); // the present step was spent by enabling
    const verified = must(await anonymous().post('/auth/mfa/verify', { code, tempToken: login.tempToken }), 200);

    expect(verified).toMatchObject({ mfaRequired: false, user: { email } });
    const me = must(
      await anonymous()
        .as({ bearer: verified.tokens.accessToken as string })
        .get('/auth/me'),
      200,
    );
    expect(me).toMatchObject({ user: { email, mfaEnabled: true }, memberships: [{ scope: 'partner', current: true }] });
    const replayed = await anonymous().post('/auth/mfa/verify', { code, tempToken: login.tempToken });
    expect(replayed.status).toBe(401);
  });

  it('registers once: a second click on the link is rejected', async () => {
    const email = `twice-${Date.now()}@partner.test`;
    const form = { companyName: 'Twice', email, password: PASSWORD, name: 'Tess', acceptTerms: true };
    const first = must(await anonymous().post('/auth/register-partner', form), 200);
    const token = await new MailboxClient(fleet.mailboxUrl).token(email);
    const verified = must(await anonymous().post('/auth/verify-email', { token }), 200);
    expect(verified).toMatchObject({ verified: true, partner: { name: 'Twice', status: 'active' } });
    const again = await anonymous().post('/auth/verify-email', { token });
    expect([again.status, again.body.code]).toEqual([400, 'verification_invalid']);
    const known = must(await anonymous().post('/auth/register-partner', form), 200);
    expect(known).toEqual(first);
  });

  it('gets the same response for an unknown address and a wrong password', async () => {
    const { email } = await registerPartner(fleet);
    const wrong = await anonymous().post('/auth/login', { email, password: 'not the password 1' });
    const unknown = await anonymous().post('/auth/login', { email: 'unknown@nowhere.test', password: 'not it 12345' });
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect({ ...wrong.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' });
    expect(wrong.body.code).toBe('login_failed');
  });

  it('gets 429 with Retry-After at the sixth login from one address', async () => {
    const client = anonymous();
    const attempt = () => client.post('/auth/login', { email: 'limit@nowhere.test', password: 'not it 12345' });
    for (let count = 0; count < 5; count++) expect((await attempt()).status).toBe(401);
    const refused = await attempt();
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBe(refused.body.retryAfter);
  });
});

describe('a session', () => {
  const fleet = connectToFleet();

  async function session() {
    const { email } = await registerPartner(fleet);
    const client = new ApiClient(fleet.baseUrl);
    const login = await client.post('/auth/login', { email, password: PASSWORD });
    must(login, 200);
    return { client, cookies: login.cookies, accessToken: login.body.tokens.accessToken as string };
  }
  const refresh = (client: ApiClient, cookies: Record<string, string>) =>
    client.as({ cookies, headers: { 'x-service-csrf': cookies['service_csrf_token'] ?? '' } }).post('/auth/refresh');

  it('is refreshed by its cookie only with the CSRF header', async () => {
    const { client, cookies } = await session();
    const without = await client.as({ cookies }).post('/auth/refresh');
    expect([without.status, without.body.code]).toEqual([403, 'csrf_rejected']);
    const fresh = await refresh(client, cookies);
    expect(must(fresh, 200)).toMatchObject({ tokens: { expiresInSeconds: 900 }, csrfToken: expect.any(String) });
    expect(fresh.cookies['service_refresh_token']).not.toBe(cookies['service_refresh_token']);
  });

  it('refreshed twice at once gets one successor and one 409, and stays valid', async () => {
    const { client, cookies } = await session();
    const responses = await Promise.all([refresh(client, cookies), refresh(client, cookies)]);
    expect(responses.map((response) => response.status).sort()).toEqual([200, 409]);
    const winner = responses.find((response) => response.status === 200);
    expect((await refresh(client, winner?.cookies ?? {})).status).toBe(200);
  });

  it('is rejected by every service within a second of the logout', async () => {
    const { client, accessToken } = await session();
    const signedIn = client.as({ bearer: accessToken });
    const reads = ['/auth/me', '/api-keys', '/orgs/organizations'] as const;
    for (const path of reads) expect((await signedIn.get(path)).status).toBe(200);
    must(await signedIn.post('/auth/logout'), 200);
    await new Promise((resolve) => setTimeout(resolve, 1_000)); // guaranteed by docs/reference/authentication.md#checks-on-a-user-token
    for (const path of reads) expect((await signedIn.get(path)).status).toBe(401);
  });

  it('with a forged, unsigned or foreign token is rejected', async () => {
    const { client, accessToken } = await session();
    const [header, payload, signature] = accessToken.split('.');
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
    const claims = JSON.parse(Buffer.from(payload ?? '', 'base64url').toString()) as Record<string, unknown>;
    const system = Buffer.from(JSON.stringify({ ...claims, scope: 'system', partnerId: null })).toString('base64url');
    for (const forged of [
      `${none}.${payload}.`,
      `${header}.${system}.${signature}`,
      `${header}.${payload}.AAAA`,
      'x',
    ]) {
      const response = await client.as({ bearer: forged }).get('/orgs/organizations');
      expect([response.status, response.body.code]).toEqual([401, 'unauthenticated']);
    }
  });
});
