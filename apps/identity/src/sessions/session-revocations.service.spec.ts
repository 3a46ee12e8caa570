import { eventually } from '@rmm/testing-services';
import { cookiesOf, expectStatus, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { SAFARI, SessionsClient } from '../../test/sessions.js';
import { inviteAndAccept, registerPartner, roleId, sessionOf } from '../../test/users.js';

describe('SessionRevocationsService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let client: SessionsClient;
  let other: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    [identity, other] = await Promise.all([testApp.startReplica(), testApp.startReplica()]);
    client = new SessionsClient(identity);
  }, 120_000);
  afterAll(() => testApp.stop());

  const revocations = (userId: string) =>
    testApp.query(
      `select resource_type as type, resource_id as id, details from audit_entry
       where action = 'user.session.revoke' and actor_id = $1 order by timestamp, sequence`,
      [userId],
    );

  it('ends one session and its tokens on every replica', async () => {
    const user = await registerPartner(identity);
    const doomed = await client.signIn(user, SAFARI);
    const kept = await client.signIn(user);
    expect((await other.get('/auth/me', { bearer: doomed.bearer })).status).toBe(200);
    const id = await client.currentId(doomed.bearer);

    const response = expectStatus(await identity.delete(`/auth/sessions/${id}`, { bearer: kept.bearer }), 200);
    expect(response.body).toEqual({ success: true });
    expect(response.headers['set-cookie']).toBeUndefined();
    expect((await identity.get('/auth/me', { bearer: doomed.bearer })).status).toBe(401);
    await eventually(async () => expect((await other.get('/auth/me', { bearer: doomed.bearer })).status).toBe(401), {
      timeoutMs: 10_000,
    });
    expect(await client.refresh(doomed.cookies)).toMatchObject({ status: 401, body: { code: 'refresh_invalid' } });
    expect((await client.list(kept.bearer)).data.map((session) => session.id)).not.toContain(id);
    expect((await client.refresh(kept.cookies)).status).toBe(200);
    expect((await identity.delete(`/auth/sessions/${id}`, { bearer: kept.bearer })).status).toBe(404);
    await eventually(async () =>
      expect(await revocations(user.userId)).toEqual([{ type: 'session', id, details: { current: false } }]),
    );
  });

  it('ends the current session and clears its cookies', async () => {
    const { bearer } = await client.signIn(await registerPartner(identity));
    const response = expectStatus(
      await identity.delete(`/auth/sessions/${await client.currentId(bearer)}`, { bearer }),
      200,
    );
    expect(cookiesOf(response)).toEqual({ service_refresh_token: '', service_csrf_token: '' });
    expect((await identity.get('/auth/me', { bearer })).status).toBe(401);
  });

  it('ends all other sessions and returns their number', async () => {
    const user = await registerPartner(identity);
    const others = [await client.signIn(user), await client.signIn(user, SAFARI)];
    const kept = await client.signIn(user);
    const ended = expectStatus(await identity.delete('/auth/sessions', { bearer: kept.bearer }), 200);
    expect(ended.body).toEqual({ success: true, message: 'Other sessions ended: 3' });
    for (const { bearer } of [...others, user]) {
      expect((await identity.get('/auth/me', { bearer })).status).toBe(401);
    }
    expect((await client.list(kept.bearer)).data).toEqual([expect.objectContaining({ current: true })]);
    const again = expectStatus(await identity.delete('/auth/sessions', { bearer: kept.bearer }), 200);
    expect(again.body.message).toBe('Other sessions ended: 0');
    const row = { type: 'user', id: user.userId };
    await eventually(async () =>
      expect(await revocations(user.userId)).toEqual([
        { ...row, details: { sessions: 3 } },
        { ...row, details: { sessions: 0 } },
      ]),
    );
  });

  it('does not list or end sessions of another user, even for an administrator', async () => {
    const victim = await registerPartner(identity);
    const stranger = await registerPartner(identity);
    const viewer = await roleId(identity, victim.bearer, 'Partner Viewer');
    const colleague = await inviteAndAccept(identity, victim.bearer, { roleId: viewer });
    const root = sessionOf(
      await identity.post('/auth/login', { email: 'root@platform.test', password: 'bootstrap-horse-battery-9' }),
    );
    const id = await client.currentId(victim.bearer);
    for (const { bearer } of [stranger, colleague, root]) {
      expect((await client.list(bearer)).data.map((session) => session.id)).not.toContain(id);
      expect(await identity.delete(`/auth/sessions/${id}`, { bearer })).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      });
      expectStatus(await identity.delete('/auth/sessions', { bearer }), 200);
    }
    expect((await identity.delete('/auth/sessions/not-an-id', { bearer: victim.bearer })).status).toBe(404);
    expect((await identity.get('/auth/me', { bearer: victim.bearer })).status).toBe(200);
  });

  it('is available to users of a suspended partner', async () => {
    const user = await registerPartner(identity);
    await testApp.query(`update partner set status = 'suspended' where id = $1`, [user.partnerId]);
    expect((await client.list(user.bearer)).data).toHaveLength(1);
  });

  it('requires a factor where a policy does', async () => {
    const user = await registerPartner(identity);
    await testApp.query(`update partner set settings = '{"security": {"requireMfa": true}}' where id = $1`, [
      user.partnerId,
    ]);
    const { bearer } = await client.signIn(user);
    expect(await identity.get('/auth/sessions', { bearer })).toMatchObject({
      status: 428,
      body: { code: 'mfa_enrollment_required' },
    });
  });

  it('ends the session when a refresh runs concurrently', async () => {
    const user = await registerPartner(identity);
    const kept = await client.signIn(user);
    for (let n = 0; n < 5; n += 1) {
      const doomed = await client.signIn(user);
      const id = await client.currentId(doomed.bearer);
      const [refreshed, ended] = await Promise.all([
        client.refresh(doomed.cookies),
        identity.delete(`/auth/sessions/${id}`, { bearer: kept.bearer }),
      ]);
      expect(ended.status).toBe(200);
      if (refreshed.status === 200) {
        expect((await client.refresh(cookiesOf(refreshed))).status).toBe(401);
        expect((await identity.get('/auth/me', { bearer: sessionOf(refreshed).bearer })).status).toBe(401);
      } else expect(refreshed.status).toBe(401);
    }
  });
});
