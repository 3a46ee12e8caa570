import { MetricsRegistry } from '@rmm/service-kit';
import {
  expectStatus,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
  type TestResponse,
} from '../test/identity-test-app.js';
import { registerPartner, roleId, type TestUser } from '../test/users.js';

const WRONG = 'wrong-horse-battery-1';
const UNKNOWN_TOKEN = 'x'.repeat(48);

/** Compares what anonymous callers see: the response, and the hashes computed for it, which decide about its time. */
describe('a response to an anonymous caller', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let host: TestUser;
  let viewer: string;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    host = await registerPartner(identity);
    viewer = await roleId(identity, host.bearer, 'Partner Viewer');
    await login(freshEmail()); // computes the hash that unknown addresses are compared with
  }, 120_000);
  afterAll(() => testApp.stop());

  const login = (email: string, password = WRONG) => identity.post('/auth/login', { email, password });
  const hashes = async () => {
    const metric = identity.app.get(MetricsRegistry).registry.getSingleMetric('rmm_password_hashes_total');
    return (await metric?.get())?.values[0]?.value ?? 0;
  };
  /** Runs one request, and returns what a caller sees of it and the number of hashes. */
  const observe = async (request: () => Promise<TestResponse>) => {
    const before = await hashes();
    const { status, body } = await request();
    return { status, body: { ...(body as object), requestId: '' }, hashes: (await hashes()) - before };
  };
  const observeAll = async (requests: (() => Promise<TestResponse>)[]) => {
    const seen = [];
    for (const request of requests) seen.push(await observe(request));
    return seen;
  };
  const invite = async () => {
    const email = freshEmail('invited');
    const invited = await identity.post('/users/invite', { email, name: 'Robin Vale', roleId: viewer }, host);
    return { email, userId: expectStatus(invited, 201).body.id as string, token: await identity.mailedToken(email) };
  };
  const changed = async (sql: string) => {
    const user = await registerPartner(identity);
    await testApp.query(sql, [user.userId]);
    return user.email;
  };

  it('of login is the same for every reason, and costs one hash', async () => {
    const { email: wrong } = await registerPartner(identity);
    const { email: locked } = await registerPartner(identity);
    for (let n = 0; n < 5; n += 1) await login(locked);
    const { email: invited } = await invite();
    const disabled = await changed(`UPDATE user_account SET status = 'disabled' WHERE id = $1`);
    const removed = await changed('DELETE FROM partner_membership WHERE user_id = $1');
    const suspended = await changed(
      `UPDATE partner SET status = 'suspended'
       WHERE id = (SELECT partner_id FROM partner_membership WHERE user_id = $1)`,
    );
    const seen = await observeAll([
      () => login(freshEmail()),
      () => login(wrong),
      () => login(locked, PASSWORD),
      () => login(invited),
      () => login(disabled, PASSWORD),
      () => login(removed, PASSWORD),
      () => login(suspended, PASSWORD),
    ]);
    expect(seen[0]).toMatchObject({ status: 401, body: { code: 'login_failed' }, hashes: 1 });
    expect(seen).toEqual(seen.map(() => seen[0]));
  });

  it('of sign-up is the same for addresses with and without an account, and costs one hash', async () => {
    const { email: invited } = await invite();
    const form = { companyName: 'Acme MSP', password: PASSWORD, name: 'Pat Morgan', acceptTerms: true };
    const addresses = [freshEmail(), host.email, invited];
    const seen = await observeAll(
      addresses.map((email) => () => identity.post('/auth/register-partner', { ...form, email })),
    );
    expect(seen[0]).toMatchObject({ status: 200, body: { success: true }, hashes: 1 });
    expect(seen).toEqual(seen.map(() => seen[0]));
    const legacy = await observeAll(
      addresses.map((email) => () => identity.post('/auth/register', { email, password: PASSWORD })),
    );
    expect(legacy[0]).toMatchObject({ status: 200, hashes: 0 });
    expect(legacy).toEqual(legacy.map(() => legacy[0]));
  });

  it('of forgot-password is the same for every address, and reads no account', async () => {
    const { email: invited } = await invite();
    const disabled = await changed(`UPDATE user_account SET status = 'disabled' WHERE id = $1`);
    const addresses = [freshEmail(), host.email, invited, disabled];
    const seen = await observeAll(addresses.map((email) => () => identity.post('/auth/forgot-password', { email })));
    expect(seen[0]).toMatchObject({ status: 200, body: { success: true }, hashes: 0 });
    expect(seen).toEqual(seen.map(() => seen[0]));
  });

  it('of accept-invite is the same for every token that is not valid, and costs no hash', async () => {
    const withdrawn = await invite();
    expectStatus(await identity.delete(`/users/invitations/${withdrawn.userId}`, host), 200);
    const expired = await invite();
    await testApp.query('UPDATE invitation SET expires_at = now() WHERE user_id = $1', [expired.userId]);
    const used = await invite();
    expectStatus(await identity.post('/auth/accept-invite', { token: used.token, password: PASSWORD }), 200);
    const tokens = [UNKNOWN_TOKEN, withdrawn.token, expired.token, used.token];
    const seen = await observeAll(
      tokens.map((token) => () => identity.post('/auth/accept-invite', { token, password: PASSWORD })),
    );
    expect(seen[0]).toMatchObject({ status: 400, body: { code: 'invite_invalid' }, hashes: 0 });
    expect(seen).toEqual(seen.map(() => seen[0]));
  });

  it('of reset-password is the same for every token that is not valid, and costs no hash', async () => {
    const { email, userId } = await registerPartner(identity);
    expectStatus(await identity.post('/auth/forgot-password', { email }), 200);
    const token = await identity.mailedToken(email, 2);
    await testApp.query('UPDATE link_token SET expires_at = now() WHERE user_id = $1', [userId]);
    const seen = await observeAll(
      [UNKNOWN_TOKEN, token].map(
        (given) => () => identity.post('/auth/reset-password', { token: given, password: PASSWORD }),
      ),
    );
    expect(seen[0]).toMatchObject({ status: 400, body: { code: 'reset_token_invalid' }, hashes: 0 });
    expect(seen[1]).toEqual(seen[0]);
  });
});
