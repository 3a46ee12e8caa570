import {
  ApiClient,
  enrollTotp,
  eventually,
  connectToFleet,
  inviteAndAccept,
  createOrganization,
  partnerWithMfa,
  registerPartner,
} from '@rmm/testing';
import { must } from '../steps.js';

const NO_METHODS = { allowedMfaMethods: { totp: false, sms: false } };

describe('the security policy', () => {
  const fleet = connectToFleet();
  let admin: ApiClient;
  let orgId: string;

  beforeAll(async () => {
    admin = (await partnerWithMfa(fleet)).client;
    ({ orgId } = await createOrganization(admin));
  });

  const patch = (security: unknown, more: object = {}, client = admin) =>
    client.patch(`/orgs/organizations/${orgId}`, { ...more, settings: { security } });
  const orgAdmin = async () => {
    const roles = must(await admin.get(`/users/roles?orgId=${orgId}&limit=100`), 200).data;
    const role = (roles as { id: string; name: string }[]).find(({ name }) => name === 'Org Admin');
    return (await inviteAndAccept(fleet, admin, { roleId: role?.id, orgId })).client;
  };

  it('of an organization is set through its record, returned at once, and enforced by every service', async () => {
    const member = await orgAdmin();
    const reads = ['/users', '/api-keys', '/orgs/sites', '/webhooks'];
    const statuses = () => Promise.all(reads.map(async (path) => (await member.get(path)).status));
    expect(await statuses()).toEqual([200, 200, 200, 200]);

    const response = must(await patch({ requireMfa: true, allowedMethods: { sms: false } }, { name: 'Careful' }), 200);

    const security = { requireMfa: true, allowedMfaMethods: { sms: false } };
    expect(response).toMatchObject({ name: 'Careful', settings: { security } });
    expect(must(await admin.get(`/orgs/organizations/${orgId}`), 200).settings).toEqual({ security });
    await eventually(async () => expect(await statuses()).toEqual([428, 428, 428, 428]));
    expect((await member.get('/orgs/sites')).body).toMatchObject({
      code: 'mfa_enrollment_required',
      allowedMethods: ['totp', 'passkey'],
    });
    const { client: enrolled } = await enrollTotp(member);
    expect((await enrolled.get('/orgs/sites')).status).toBe(200);
    expect(must(await enrolled.get(`/orgs/organizations/${orgId}`), 200).settings).toEqual({ security });
  });

  it('that would lock out enrolled users is rejected by provisioning and identity alike, and saves nothing', async () => {
    const member = await enrollTotp(await orgAdmin());
    const refused = await patch(NO_METHODS, { name: 'Locked out' });
    expect(refused).toMatchObject({ status: 409, body: { code: 'mfa_policy_would_lock_out_users' } });
    expect((await patch(NO_METHODS, {}, member.client)).status).toBe(409);
    const shown = must(await admin.get(`/orgs/organizations/${orgId}`), 200);
    expect(shown.name).not.toBe('Locked out');
    expect(shown.settings.security?.allowedMfaMethods).not.toEqual(NO_METHODS.allowedMfaMethods);
  });

  it('needs a session with a factor and known fields, and is invisible to other tenants', async () => {
    const plain = await registerPartner(fleet);
    const own = must(await plain.client.get('/orgs/organizations'), 200).data[0].id as string;
    const body = { name: 'Renamed', settings: { security: { requireMfa: true } } };
    const unproven = await plain.client.patch(`/orgs/organizations/${own}`, body);
    expect([unproven.status, unproven.body.code]).toEqual([403, 'mfa_required']);
    expect(must(await plain.client.get(`/orgs/organizations/${own}`), 200).name).not.toBe('Renamed');
    const unknown = await patch({ requireMfa: true, ipAllowlist: ['10.0.0.0/8'] }, { name: 'Renamed' });
    expect([unknown.status, Object.keys(unknown.body.details.fieldErrors)]).toEqual([
      400,
      ['settings.security.ipAllowlist'],
    ]);
    const { client: stranger } = await partnerWithMfa(fleet);
    expect((await patch({ requireMfa: false }, {}, stranger)).status).toBe(404);
  });

  it('of a partner restricts client addresses on every service and at login', async () => {
    const { client: first, email, password } = await registerPartner(fleet);
    const { client, recoveryCodes } = await enrollTotp(first);
    const { tempToken } = must(await client.as({}).post('/auth/login', { email, password }), 200);
    const verified = must(await client.as({}).post('/auth/mfa/verify', { tempToken, code: recoveryCodes[0] }), 200);
    const away = new ApiClient(fleet.baseUrl, { bearer: verified.tokens.accessToken as string }, '203.0.113.77');
    const elsewhere = await client.patch('/orgs/partners/me', {
      settings: { security: { ipAllowlist: ['203.0.113.0/24'] } },
    });
    expect([elsewhere.status, elsewhere.body.code]).toEqual([409, 'ip_allowlist_would_lock_out_caller']);
    const security = { ipAllowlist: [client.address] };
    must(await client.patch('/orgs/partners/me', { settings: { security } }), 200);
    expect(must(await client.get('/orgs/partners/me'), 200).settings).toEqual({ security });
    await eventually(async () => {
      for (const path of ['/users', '/orgs/sites', '/partner-service-principals']) {
        const { status, body } = await away.get(path);
        expect([status, body.code]).toEqual([403, 'ip_not_allowed']);
      }
    });
    expect((await client.get('/orgs/sites')).status).toBe(200);
    const login = await away.as({}).post('/auth/login', { email, password });
    expect([login.status, login.body.code]).toEqual([403, 'ip_not_allowed']);
  });
});
