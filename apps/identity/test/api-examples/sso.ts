import { randomUUID } from 'node:crypto';
import { TxtResolver } from '@rmm/outbound';
import { WorkerDatabase } from '@rmm/persistence';
import { HostileProvider } from '@rmm/testing';
import { cookiesOf, expectStatus, PASSWORD, type IdentityReplica, type TestResponse } from '../identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner } from '../users.js';

/** Calls the operations of single sign-on, with a provider on loopback. */
export async function callSsoExamples(identity: IdentityReplica): Promise<void> {
  const provider = await HostileProvider.start();
  try {
    await callWith(identity, provider);
  } finally {
    await provider.stop();
  }
}

async function callWith(identity: IdentityReplica, provider: HostileProvider): Promise<void> {
  const { partnerId, bearer: first } = await registerPartner(identity);
  const { bearer } = await enrollTotp(identity, first);
  const orgId = randomUUID();
  await identity.app.get(WorkerDatabase, { strict: false }).query(
    `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
     VALUES (:orgId, :partnerId, 'Customer', :slug, 'active', 1)`,
    { orgId, partnerId, slug: `customer-${orgId}` },
  );
  const post = (path: string, body: object, by = bearer) => identity.post(path, body, { bearer: by });
  const permissions = [{ resource: 'devices', action: 'read' }];
  const role = expectStatus(await post('/roles', { name: 'Staff', orgId, permissions }), 201).body.id as string;

  const domain = `${orgId}.test`;
  const claimed = expectStatus(await post('/sso/domains', { orgId, domain }), 201).body.data;
  const records = jest.spyOn(identity.app.get(TxtResolver, { strict: false }), 'resolveTxt');
  records.mockResolvedValue([claimed.txtRecordValue as string]);
  expectStatus(await post(`/sso/domains/${claimed.id}/verify`, {}), 200);
  records.mockRestore();
  expectStatus(await identity.get(`/sso/domains?orgId=${orgId}`, { bearer }), 200);

  expectStatus(await identity.get('/sso/presets', { bearer }), 200);
  const client = { clientId: HostileProvider.clientId, clientSecret: HostileProvider.clientSecret };
  const settings = { name: 'Entra ID', issuer: provider.issuer, ...client };
  const create = async (body: object) => {
    const { id } = expectStatus(await post('/sso/providers', { ...settings, ...body }), 201).body.data as {
      id: string;
    };
    expectStatus(await post(`/sso/providers/${id}/status`, { status: 'active' }), 200);
    return id;
  };
  const id = await create({ orgId, defaultRoleId: role });
  await create({ ownerScope: 'partner' });
  expectStatus(await identity.get(`/sso/providers?orgId=${orgId}`, { bearer }), 200);
  expectStatus(await identity.get(`/sso/providers/${id}`, { bearer }), 200);
  expectStatus(await post(`/sso/providers/${id}/test`, {}), 200);
  expectStatus(await identity.patch(`/sso/providers/${id}`, { enforceSSO: true }, { bearer }), 200);
  expectStatus(await identity.post('/auth/sso-discovery', { email: `user@${domain}` }), 200);
  expectStatus(await identity.patch(`/sso/providers/${id}`, { enforceSSO: false }, { bearer }), 200);
  expectStatus(await identity.get(`/sso/check/${orgId}`), 200);
  expectStatus(await identity.get('/auth/login-context'), 200);

  expectStatus(await identity.get(`/sso/login/partner/${partnerId}`), 302);
  const member = await inviteAndAccept(identity, bearer, { orgId, roleId: role });
  const follow = async (started: TestResponse, url: string) => {
    const { search } = new URL(provider.authorize(url));
    return expectStatus(await identity.get(`/sso/callback${search}`, { cookies: cookiesOf(started) }), 302);
  };
  provider.user = { sub: 'subject-1', email: member.email, email_verified: true };
  const link = { providerId: id, currentPassword: PASSWORD };
  const linking = expectStatus(await post('/sso/link', link, member.bearer), 200);
  await follow(linking, linking.body.redirectUrl as string);
  const identities = expectStatus(await identity.get('/sso/identities', member), 200);
  expectStatus(await post('/sso/reauth', {}, member.bearer), 200);

  const started = expectStatus(await identity.get(`/sso/login/${orgId}`), 302);
  const done = await follow(started, started.headers.location ?? '');
  const code = /#ssoCode=(.*)$/.exec(done.headers.location ?? '')?.[1];
  expectStatus(await identity.post('/sso/exchange', { code }, { cookies: cookiesOf(done) }), 200);
  const logout_token = await provider.sign({
    ...{ iss: provider.issuer, aud: HostileProvider.clientId, sub: 'subject-1', jti: randomUUID() },
    ...{ iat: Math.floor(Date.now() / 1_000), events: { 'http://schemas.openid.net/event/backchannel-logout': {} } },
  });
  const send = (request: import('supertest').Test) => request.type('form').send({ logout_token });
  expectStatus(await identity.call('post', `/sso/backchannel-logout/${id}`, undefined, { send }), 200);

  const path = `/sso/identities/${identities.body.data[0].id}`;
  const password = { currentPassword: PASSWORD };
  expectStatus(await identity.call('delete', path, password, { bearer: member.bearer }), 200);
  expectStatus(await post('/sso/logout', {}, member.bearer), 200);
  expectStatus(await identity.delete(`/sso/domains/${claimed.id}`, { bearer }), 200);
  expectStatus(await identity.delete(`/sso/providers/${id}`, { bearer }), 200);
}
