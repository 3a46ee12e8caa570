import { connect } from 'nats';
import { subjects, type Envelope, type PartnerState } from '@rmm/contracts';
import { natsOptions } from '@rmm/messaging';
import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  freshAddress,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
  withStatus,
} from '../../test/identity-test-app.js';
import { registerPartner, roleId, sessionOf, signInAdmin } from '../../test/users.js';

describe('a registration', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
  }, 120_000);
  afterAll(() => testApp.stop());

  const form = (email: string, over: Record<string, unknown> = {}) => ({
    companyName: 'Acme MSP',
    email,
    password: PASSWORD,
    name: 'Pat Morgan',
    acceptTerms: true,
    ...over,
  });

  it('is valid in its newest form alone, from any client', async () => {
    const email = freshEmail();
    expectStatus(
      await identity.post('/auth/register-partner', form(email, { password: 'squatter-horse-battery-1' })),
      200,
    );
    const old = await identity.mailedToken(email);
    expectStatus(await identity.post('/auth/register-partner', form(email)), 200);
    const token = await identity.mailedToken(email, 2);
    expect((await identity.post('/auth/verify-email', { token: old })).body.code).toBe('verification_invalid');
    expectStatus(await identity.post('/auth/verify-email', { token }), 200);
    const login = (password: string) => identity.post('/auth/login', { email, password });
    expect((await login('squatter-horse-battery-1')).status).toBe(401);
    expect((await login(PASSWORD)).status).toBe(200);
  });

  it('sends three mails an hour to one address, and responds the same to more', async () => {
    const email = freshEmail();
    const responses = [];
    for (let n = 0; n < 5; n += 1) responses.push(await identity.post('/auth/register-partner', form(email)));
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(responses[0]?.status).toBe(200);
    expect(await testApp.query('select id from mail where recipient = $1', [email])).toHaveLength(3);
    const token = await identity.mailedToken(email, 3);
    expectStatus(await identity.post('/auth/verify-email', { token }), 200);
  });

  it('takes over an account that was only invited, whose invitations stay open', async () => {
    const email = freshEmail();
    const host = await registerPartner(identity, 'Inviting MSP');
    const viewer = await roleId(identity, host.bearer, 'Partner Viewer');
    const invited = await identity.post('/users/invite', { email, name: 'Robin', roleId: viewer }, host);
    const userId = expectStatus(invited, 201).body.id as string;
    const link = await identity.mailedToken(email);
    expectStatus(await identity.post('/auth/register-partner', form(email)), 200);
    const token = await identity.mailedToken(email, 2);
    const verified = expectStatus(await identity.post('/auth/verify-email', { token }), 200);
    expect(verified.body).toMatchObject({ verified: true, user: { id: userId, name: 'Pat Morgan' } });
    const session = sessionOf(verified);
    const me = expectStatus(await identity.get('/auth/me', session), 200).body;
    expect(me.memberships).toEqual([expect.objectContaining({ partnerId: verified.body.partner.id, current: true })]);
    expect(me.pendingMemberships).toEqual([expect.objectContaining({ partnerId: host.partnerId })]);
    // The link chooses no password any more: it needs the account's own.
    const taken = await identity.post('/auth/accept-invite', { token: link, password: 'squatter-horse-battery-1' });
    expect(taken.body.code).toBe('login_failed');
    expectStatus(await identity.post('/auth/accept-invite', { token: link }, session), 200);

    // An account that has signed in before is not taken over.
    expectStatus(await identity.post('/auth/register-partner', form(email)), 200);
    const second = await identity.mailedToken(email, 3);
    const again = await identity.post('/auth/verify-email', { token: second });
    expect(again.body).toEqual({ verified: false, status: 'sign_in' });
  });

  it('creates partner, role, user and session by the mailed link, once', async () => {
    const email = freshEmail();
    expectStatus(await identity.post('/auth/register-partner', form(email)), 200);
    expect(await testApp.query('select id from user_account where email = $1', [email])).toEqual([]);
    const token = await identity.mailedToken(email);
    const clicks = await Promise.all([1, 2].map(() => identity.post('/auth/verify-email', { token })));
    expect(clicks.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(withStatus(clicks, 400).body.code).toBe('verification_invalid');

    const verified = withStatus(clicks, 200);
    expect(verified.body).toMatchObject({
      verified: true,
      user: { email, isPlatformAdmin: false },
      partner: { name: 'Acme MSP', slug: expect.stringMatching(/^acme-msp/), status: 'active' },
      mfaRequired: false,
      mfaEnrollmentRequired: false,
    });
    const me = await identity.get('/orgs/partners/me', { bearer: sessionOf(verified).bearer });
    expect(Object.keys(me.body as object).sort()).toEqual([
      'billingEmail',
      'createdAt',
      'currencyCode',
      'id',
      'maxDevices',
      'maxOrganizations',
      'name',
      'plan',
      'settings',
      'slug',
      'status',
      'timezone',
      'type',
      'updatedAt',
    ]);
    const roles = await identity.get('/roles?limit=100', { bearer: sessionOf(verified).bearer });
    const own = (
      roles.body.data as {
        name: string;
        partnerId: string | null;
        userCount: number;
        isSystem: boolean;
        forceMfa: boolean;
      }[]
    ).filter(({ name }) => name === 'Partner Admin');
    expect(own).toEqual([
      expect.objectContaining({ partnerId: verified.body.partner.id, userCount: 1, isSystem: true, forceMfa: true }),
    ]);
  });

  it('returns the same response for an address that has a user, who is asked to log in', async () => {
    const partner = await registerPartner(identity);
    const fresh = expectStatus(await identity.post('/auth/register-partner', form(freshEmail())), 200);
    const taken = expectStatus(await identity.post('/auth/register-partner', form(partner.email)), 200);
    expect(taken.body).toEqual(fresh.body);
    const token = await identity.mailedToken(partner.email, 2);
    const verified = expectStatus(await identity.post('/auth/verify-email', { token }), 200);
    expect(verified.body).toEqual({ verified: false, status: 'sign_in' });
  });

  it('gives partners of one name different slugs, also at the same time', async () => {
    const partners = await Promise.all([1, 2, 3].map(() => registerPartner(identity, 'Same Name')));
    const slugs = await testApp.query<{ slug: string }>(`select slug from partner where id = any($1)`, [
      partners.map((p) => p.partnerId),
    ]);
    expect(slugs.map(({ slug }) => slug).sort()).toEqual(['same-name', 'same-name-2', 'same-name-3']);
  });

  it('validates the form and limits attempts per IP address', async () => {
    const from = freshAddress();
    const post = (over: Record<string, unknown>) =>
      identity.post('/auth/register-partner', form(freshEmail(), over), { from });
    expect((await post({ acceptTerms: false })).body.details.fieldErrors).toHaveProperty('acceptTerms');
    expect(await post({ password: 'password' })).toMatchObject({ status: 400, body: { code: 'weak_password' } });
    expect((await post({})).status).toBe(200);
    expect((await post({})).status).toBe(200);
    expect((await post({})).status).toBe(429);
    expect((await identity.post('/auth/register', { email: freshEmail(), password: PASSWORD })).status).toBe(200);
  });

  it('publishes partner.created, which creates the first organization, and records an audit entry', async () => {
    const nats = await connect(natsOptions(testApp.nats.adminUrl, 'spec'));
    const events = nats.subscribe(subjects.internal('identity', 'partner.created'));
    await nats.flush();
    const partner = await registerPartner(identity, 'Known Everywhere');
    for await (const message of events) {
      const event = message.json<Envelope<PartnerState>>();
      if (event.partnerId !== partner.partnerId) continue; // of a test before
      expect(event).toMatchObject({
        type: 'partner.created',
        aggregateVersion: 1,
        data: {
          partnerId: partner.partnerId,
          name: 'Known Everywhere',
          slug: 'known-everywhere',
          createFirstOrganization: true,
        },
      });
      break;
    }
    await nats.close();
    await eventually(async () => {
      const rows = await testApp.query<{ action: string }>('select action from audit_entry where partner_id = $1', [
        partner.partnerId,
      ]);
      expect(rows.map(({ action }) => action).sort()).toEqual(['auth.email_verified', 'partner.create', 'user.login']);
    });
  });

  it('returns 404 without ENABLE_REGISTRATION, also to a malformed form', async () => {
    const closed = await testApp.startReplica({ ENABLE_REGISTRATION: 'false' });
    for (const body of [form(freshEmail()), {}]) {
      expect(await closed.post('/auth/register-partner', body)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      });
    }
    expect((await closed.get('/config')).body.registration).toEqual({ enabled: false });
  });

  it('is not needed when a platform administrator creates a partner with its administrator', async () => {
    const root = await signInAdmin(identity);
    const email = freshEmail('owner');
    const body = { name: 'Created By Hand', admin: { email, name: 'Olive Owner' }, maxOrganizations: 3 };
    const created = expectStatus(await identity.post('/orgs/partners', body, { bearer: root }), 201);
    expect(created.body).toMatchObject({
      slug: 'created-by-hand',
      maxOrganizations: 3,
      invite: { inviteEmailSent: true },
    });
    const token = await identity.mailedToken(email);
    const accepted = expectStatus(await identity.post('/auth/accept-invite', { token, password: PASSWORD }), 200);
    const { bearer } = sessionOf(accepted);
    expect((await identity.get('/orgs/partners/me', { bearer })).body.name).toBe('Created By Hand');
    const patched = expectStatus(
      await identity.patch('/orgs/partners/me', { settings: { locale: 'de' }, timezone: 'Europe/Berlin' }, { bearer }),
      200,
    );
    expect(patched.body).toMatchObject({
      settings: { locale: 'de' },
      timezone: 'Europe/Berlin',
      name: 'Created By Hand',
    });
    expect((await identity.get('/orgs/partners', { bearer })).body.code).toBe('scope_not_allowed');
    const list = expectStatus(await identity.get('/orgs/partners?search=created', { bearer: root }), 200);
    expect(list.body.pagination.total).toBe(1);
  });
});
