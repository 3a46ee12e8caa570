import {
  ADMIN,
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type IdentityReplica,
  type TestResponse,
} from '../../test/identity-test-app.js';
import { enrollTotp, registerPartner, roleId, sessionOf, signInAdmin, type TestUser } from '../../test/users.js';

const codeOf = ({ status, body }: TestResponse) => (status < 300 ? status : (body.code as string));

interface Claims {
  scope: string;
  partnerId: string | null;
  mfa: boolean;
}

describe('a session of a user with several memberships', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let host: TestUser;
  let user: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    host = await registerPartner(identity, 'Host MSP');
    user = await registerPartner(identity, 'Own MSP');
    const viewer = await roleId(identity, host.bearer, 'Partner Viewer');
    expectStatus(await identity.post('/users/invite', { email: user.email, name: 'U', roleId: viewer }, host), 201);
    const token = await identity.mailedToken(user.email, 2);
    expectStatus(await identity.post('/auth/accept-invite', { token, password: PASSWORD }), 200);
  }, 120_000);
  afterAll(() => testApp.stop());
  beforeEach(() => setSecurity({}));

  const setSecurity = (security: object) =>
    testApp.query(`UPDATE partner SET settings = jsonb_build_object('security', $2::jsonb) WHERE id = $1`, [
      host.partnerId,
      JSON.stringify(security),
    ]);
  const claimsOf = ({ bearer }: { bearer: string }) =>
    JSON.parse(Buffer.from(bearer.split('.')[1] ?? '', 'base64url').toString()) as Claims;
  const login = async (partnerId?: string) =>
    sessionOf(
      expectStatus(await identity.post('/auth/login', { email: user.email, password: PASSWORD, partnerId }), 200),
    );
  const move = (session: { bearer: string }, to: object) => identity.post('/auth/switch', to, session);
  const refresh = ({ cookies }: { cookies: Record<string, string> }) =>
    identity.post('/auth/refresh', undefined, {
      cookies,
      headers: { 'x-service-csrf': cookies.service_csrf_token ?? '' },
    });

  it('enters the membership that was entered last, failing that the oldest', async () => {
    expect(claimsOf(await login(user.partnerId)).partnerId).toBe(user.partnerId);
    expect(claimsOf(await login()).partnerId).toBe(user.partnerId);
    const moved = sessionOf(expectStatus(await move(await login(), { partnerId: host.partnerId }), 200));
    expect(claimsOf(moved).partnerId).toBe(host.partnerId);
    expect(claimsOf(await login()).partnerId).toBe(host.partnerId);
    await testApp.query('UPDATE partner_membership SET last_entered_at = NULL WHERE user_id = $1', [user.userId]);
    expect(claimsOf(await login()).partnerId).toBe(user.partnerId);
  });

  it('switches to system scope as a platform administrator, who enters it by default', async () => {
    const [root] = await testApp.query<{ id: string }>('SELECT id FROM user_account WHERE email = $1', [ADMIN.email]);
    const [role] = await testApp.query<{ id: string }>(
      `SELECT role_id AS id FROM partner_membership WHERE user_id = $1 AND partner_id = $2`,
      [host.userId, host.partnerId],
    );
    await testApp.query(
      `INSERT INTO partner_membership (partner_id, user_id, role_id, last_entered_at) VALUES ($1, $2, $3, now())`,
      [host.partnerId, root.id, role.id],
    );
    const bearer = await signInAdmin(identity);
    expect(claimsOf({ bearer }).scope).toBe('system');
    const there = sessionOf(expectStatus(await move({ bearer }, { partnerId: host.partnerId }), 200));
    expect(claimsOf(there).scope).toBe('partner');
    const back = sessionOf(expectStatus(await move(there, { scope: 'system' }), 200));
    expect(claimsOf(back).scope).toBe('system');
    expect(codeOf(await move(await login(), { scope: 'system' }))).toBe('not_found');
    for (const body of [{}, { scope: 'partner' }, { scope: 'system', partnerId: host.partnerId }]) {
      expect(codeOf(await move(back, body))).toBe('validation_failed');
    }
  });

  it('ends, and never moves, when its membership is gone', async () => {
    const session = await login(host.partnerId);
    const own = await login(user.partnerId);
    const [membership] = await testApp.query<{ row: object }>(
      'DELETE FROM partner_membership WHERE user_id = $1 AND partner_id = $2 RETURNING to_jsonb(partner_membership) AS row',
      [user.userId, host.partnerId],
    );
    expect(codeOf(await refresh(session))).toBe('refresh_invalid');
    const fresh = await testApp.startReplica();
    expect((await fresh.get('/auth/me', session)).status).toBe(401);
    expect((await refresh(own)).status).toBe(200);
    await testApp.query(
      'INSERT INTO partner_membership SELECT * FROM jsonb_populate_record(NULL::partner_membership, $1)',
      [JSON.stringify(membership?.row)],
    );
  });

  it('lives as long after the login as the entered tenant permits, however old the switch', async () => {
    await setSecurity({ sessionLifetimeHours: 8 });
    const early = await login(user.partnerId);
    await testApp.query(
      `UPDATE session_family SET signed_in_at = now() - interval '7 hours' WHERE user_id = $1 AND revoked_at IS NULL`,
      [user.userId],
    );
    expectStatus(await move(early, { partnerId: host.partnerId }), 200);
    const [family] = await testApp.query<{ hours: number }>(
      `SELECT extract(epoch FROM absolute_expires_at - now())::float8 / 3600 AS hours FROM session_family
       WHERE user_id = $1 AND partner_id = $2 AND revoked_at IS NULL ORDER BY created_at DESC LIMIT 1`,
      [user.userId, host.partnerId],
    );
    expect(family?.hours).toBeGreaterThan(0.9);
    expect(family?.hours).toBeLessThan(1.1);

    const late = await login(user.partnerId);
    await testApp.query(
      `UPDATE session_family SET signed_in_at = now() - interval '9 hours' WHERE user_id = $1 AND revoked_at IS NULL`,
      [user.userId],
    );
    expect(codeOf(await move(late, { partnerId: host.partnerId }))).toBe('unauthenticated');
    expectStatus(await identity.get('/auth/me', late), 200);
  });

  it('has mfa: false where the entered tenant forbids the factor, and true elsewhere', async () => {
    const { secret } = await enrollTotp(identity, (await login(user.partnerId)).bearer);
    await setSecurity({ allowedMfaMethods: { totp: false } });
    const challenge = { email: user.email, password: PASSWORD, partnerId: host.partnerId };
    const { tempToken } = expectStatus(await identity.post('/auth/login', challenge), 200).body;
    const verified = await identity.post('/auth/mfa/verify', { tempToken, code: totpCode(secret) });
    const there = sessionOf(expectStatus(verified, 200));
    expect(claimsOf(there)).toMatchObject({ partnerId: host.partnerId, mfa: false });
    expect(claimsOf(sessionOf(expectStatus(await refresh(there), 200))).mfa).toBe(false);
    const own = sessionOf(expectStatus(await move(there, { partnerId: user.partnerId }), 200));
    expect(claimsOf(own)).toMatchObject({ partnerId: user.partnerId, mfa: true });
    const back = sessionOf(expectStatus(await move(own, { partnerId: host.partnerId }), 200));
    expect(claimsOf(back).mfa).toBe(false);
  });
});
