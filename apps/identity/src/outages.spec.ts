import { eventually } from '@rmm/testing-services';
import { ADMIN, expectStatus, IdentityTestApp, PASSWORD, type IdentityReplica } from '../test/identity-test-app.js';
import { registerPartner, sessionOf, signInAdmin } from '../test/users.js';

describe('replicas of identity, with and without their stores', () => {
  let testApp: IdentityTestApp;
  let replicas: [IdentityReplica, IdentityReplica];

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    replicas = await Promise.all([testApp.startReplica(), testApp.startReplica()]);
  }, 120_000);
  afterAll(() => testApp.stop());

  it('create one administrator and one signing key when they start together', async () => {
    expect(await testApp.query('select email from user_account')).toEqual([{ email: ADMIN.email }]);
    expect(await testApp.query('select kid from signing_key')).toHaveLength(1);
    const seeded = await testApp.query<{ roles: number; grants: number }>(
      `select count(distinct r.id)::int as roles, count(rp.permission_id)::int as grants
       from role r join role_permission rp on rp.role_id = r.id where r.partner_id is null`,
    );
    expect(seeded[0].roles).toBe(11);
    const bearer = await signInAdmin(replicas[0]);
    expect((await replicas[1].get('/users/me', { bearer })).status).toBe(200);
  });

  it('create nothing more at the next start', async () => {
    const before = await testApp.query('select count(*) from role_permission');
    await (await testApp.startReplica({ BOOTSTRAP_ADMIN_EMAIL: 'another@platform.test' })).stop();
    expect(await testApp.query('select email from user_account where is_platform_admin')).toEqual([
      { email: ADMIN.email },
    ]);
    expect(await testApp.query('select count(*) from role_permission')).toEqual(before);
  });

  it('end a session on every replica without waiting for their caches', async () => {
    const user = await registerPartner(replicas[0]);
    expect((await replicas[1].get('/auth/me', { bearer: user.bearer })).status).toBe(200);
    expectStatus(await replicas[0].post('/auth/logout', undefined, { bearer: user.bearer }), 200);
    expect((await replicas[0].get('/auth/me', { bearer: user.bearer })).status).toBe(401);
    await eventually(
      async () => expect((await replicas[1].get('/auth/me', { bearer: user.bearer })).status).toBe(401),
      { timeoutMs: 10_000 },
    );
  });

  it('seal every audit entry once, in valid chains', async () => {
    const bearer = await signInAdmin(replicas[1]);
    const user = await registerPartner(replicas[0]);
    await eventually(async () => {
      const report = expectStatus(
        await replicas[0].get(`/audit-logs/verify?partnerId=${user.partnerId}`, { bearer }),
        200,
      );
      expect(report.body.data).toMatchObject({ verified: true, firstBreak: null, fromSequence: 1 });
      expect(report.body.data.checkedRows).toBeGreaterThanOrEqual(3);
      expect(report.body.data.head.sequence).toBe(report.body.data.checkedRows);
    });
    const page = expectStatus(await replicas[0].get('/audit-logs?limit=2', { bearer: user.bearer }), 200);
    expect(page.body.data).toHaveLength(2);
    const next = expectStatus(
      await replicas[1].get(`/audit-logs?limit=2&cursor=${page.body.pagination.nextCursor}`, { bearer: user.bearer }),
      200,
    );
    const ids = [...page.body.data, ...next.body.data].map(({ id }: { id: string }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect([...page.body.data, ...next.body.data].every((row) => row.partnerId === user.partnerId)).toBe(true);
    const stolen = await replicas[0].get(`/audit-logs?limit=2&cursor=${page.body.pagination.nextCursor}`, { bearer });
    expect(stolen).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } });

    await testApp.query(`update audit_entry set result = 'failure' where partner_id = $1 and sequence = 2`, [
      user.partnerId,
    ]);
    const broken = await replicas[0].get(`/audit-logs/verify?partnerId=${user.partnerId}`, { bearer });
    expect(broken.body.data).toMatchObject({ verified: false, firstBreak: { sequence: 2, kind: 'changed' } });
  });

  it('delay mails and refuse logins while Redis is down, and recover', async () => {
    const user = await registerPartner(replicas[0]);
    await testApp.stores.redis.stop();
    const refused = await replicas[0].post('/auth/login', { email: user.email, password: PASSWORD });
    expect(refused).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
    expect(refused.headers['retry-after']).toBeDefined();
    expect((await replicas[0].get('/auth/me', { bearer: user.bearer })).status).toBe(200);
    const refreshed = await replicas[0].post('/auth/refresh', undefined, {
      cookies: user.cookies,
      headers: { 'x-service-csrf': user.cookies.service_csrf_token },
    });
    expect(refreshed.status).toBe(200);

    await testApp.stores.redis.start();
    await eventually(async () => {
      const back = await replicas[0].post('/auth/login', { email: user.email, password: PASSWORD });
      expect(sessionOf(expectStatus(back, 200)).bearer).toBeTruthy();
    });
  });

  it('continue without NATS and publish the backlog once it is back', async () => {
    const bearer = await signInAdmin(replicas[0]);
    await testApp.nats.stop();
    const login = await replicas[0].post('/auth/login', ADMIN);
    expect(login.status).toBe(200);
    await testApp.nats.start();
    await eventually(async () => expect(await testApp.query('select 1 from outbox')).toEqual([]), {
      timeoutMs: 30_000,
    });
    expect((await replicas[0].get('/users/me', { bearer })).status).toBe(200);
  });
});
