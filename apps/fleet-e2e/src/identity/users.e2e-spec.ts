import {
  ApiClient,
  eventually,
  connectToFleet,
  inviteAndAccept,
  MailboxClient,
  createOrganization,
  partnerWithMfa,
  PASSWORD,
  type SignedIn,
} from '@rmm/testing';
import { must } from '../steps.js';

const FLEET = ['/users/me', '/orgs/organizations', '/api-keys', '/devices'];

describe('users of a partner', () => {
  const fleet = connectToFleet();
  const anonymous = () => new ApiClient(fleet.baseUrl);
  let owner: SignedIn;

  beforeAll(async () => {
    owner = await partnerWithMfa(fleet);
  });

  const roleNamed = async (name: string, query = '') => {
    const { data } = must(await owner.client.get(`/users/roles?limit=100${query}`), 200);
    return (data as { id: string; name: string }[]).find((role) => role.name === name)?.id ?? '';
  };

  it('are restricted to sites that provisioning confirms', async () => {
    const [mine, other] = [await createOrganization(owner.client), await createOrganization(owner.client)];
    const { orgId } = mine;
    const roleId = await roleNamed('Org Technician', `&orgId=${orgId}`);
    const invite = (siteIds: string[]) =>
      owner.client.post('/users/invite', {
        email: `sited-${Date.now()}-${siteIds.length}@users.test`,
        name: 'Sam Site',
        orgId,
        roleId,
        siteIds,
      });
    const refused = await invite([mine.siteId, other.siteId]);
    expect([refused.status, Object.keys(refused.body.details.fieldErrors as object)]).toEqual([400, ['siteIds.1']]);
    must(await invite([mine.siteId]), 201);
  });

  it('are rejected by every service once they are removed', async () => {
    const leaver = await inviteAndAccept(fleet, owner.client, {
      roleId: await roleNamed('Partner Technician'),
      orgAccess: 'all',
    });
    for (const path of FLEET) must(await leaver.client.get(path), 200);
    must(await owner.client.delete(`/users/${leaver.userId}`), 200);
    for (const path of FLEET) {
      await eventually(async () => {
        must(await leaver.client.get(path), 401);
      });
    }
    const login = await anonymous().post('/auth/login', { email: leaver.email, password: PASSWORD });
    expect([login.status, login.body.code]).toEqual([401, 'login_failed']);
  });

  it('refresh from two tabs at once: one succeeds, the other gets 409', async () => {
    const user = await inviteAndAccept(fleet, owner.client, { roleId: await roleNamed('Partner Viewer') });
    const login = await anonymous().post('/auth/login', { email: user.email, password: PASSWORD });
    must(login, 200);
    const tab = anonymous().as({
      cookies: login.cookies,
      headers: { 'x-service-csrf': login.cookies['service_csrf_token'] ?? '' },
    });
    const responses = await Promise.all([tab.post('/auth/refresh'), tab.post('/auth/refresh')]);
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409]);
    const raced = responses.find(({ status }) => status === 409);
    expect([raced?.body.code, raced?.headers.get('retry-after')]).toEqual(['refresh_raced', '1']);
    const winner = responses.find(({ status }) => status === 200);
    must(
      await anonymous()
        .as({ bearer: winner?.body.tokens.accessToken as string })
        .get('/users/me'),
      200,
    );
  });

  it('reset the password by a mailed link, once', async () => {
    const user = await inviteAndAccept(fleet, owner.client, { roleId: await roleNamed('Partner Viewer') });
    const unknown = must(await anonymous().post('/auth/forgot-password', { email: 'unknown@nowhere.test' }), 200);
    const known = must(await anonymous().post('/auth/forgot-password', { email: user.email }), 200);
    expect(known).toEqual(unknown);
    const token = await eventually(async () => {
      const mails = await new MailboxClient(fleet.mailboxUrl).messages(user.email);
      const found = mails.map(({ text }) => /reset-password\?token=([\w-]+)/.exec(text)?.[1]).find(Boolean);
      if (!found) throw new Error('no link yet');
      return found;
    });
    const reset = (password: string) => anonymous().post('/auth/reset-password', { token, password });
    expect((await reset('password')).body.code).toBe('weak_password');
    must(await reset('another-horse-battery-8'), 200);
    expect((await reset('third-horse-battery-9')).body.code).toBe('reset_token_invalid');
    must(await user.client.get('/users/me'), 401);
    must(await anonymous().post('/auth/login', { email: user.email, password: 'another-horse-battery-8' }), 200);
  });
});
