import { createHash } from 'node:crypto';
import {
  ApiClient,
  buildEnrollment,
  connectToFleet,
  createOrganization,
  eventually,
  hasValidSignature,
  MailboxClient,
  partnerWithMfa,
  registerPartner,
  untilStatus,
  WebhookReceiver,
} from '@rmm/testing';
import { enrollmentKey, must } from '../steps.js';

const SECRET = 'a-secret-of-the-partner';

describe('a webhook of a partner', () => {
  const fleet = connectToFleet();
  const receivers: WebhookReceiver[] = [];
  const receiver = async () => {
    const created = new WebhookReceiver();
    receivers.push(created);
    return { receiver: created, url: await created.start() };
  };
  afterAll(() => Promise.all(receivers.map((created) => created.stop())));

  const input = (url: string) => ({ name: 'All customers', url, secret: SECRET, events: ['device.enrolled'] });
  const enroll = async (client: ApiClient, orgId: string) => {
    const body = buildEnrollment(await enrollmentKey(client, orgId));
    await untilStatus(() => new ApiClient(fleet.baseUrl).post('/agents/enroll', body), 201);
  };

  it('gets the events of all organizations of the partner, signed, and none of another partner', async () => {
    const [ours, theirs] = [await partnerWithMfa(fleet), await partnerWithMfa(fleet)];
    const [our, their] = [await receiver(), await receiver()];
    const { id } = must(await ours.client.post('/partner-webhooks', input(our.url)), 201) as { id: string };
    must(await theirs.client.post('/partner-webhooks', input(their.url)), 201);
    const organizations = [await createOrganization(ours.client), await createOrganization(ours.client)];
    const foreign = await createOrganization(theirs.client);
    await enroll(theirs.client, foreign.orgId);
    for (const { orgId } of organizations) await enroll(ours.client, orgId);

    const requests = await our.receiver.waitFor('device.enrolled', 2);
    expect(requests.map(({ body }) => body.orgId).sort()).toEqual(organizations.map(({ orgId }) => orgId).sort());
    expect(requests.every((request) => hasValidSignature(request, SECRET))).toBe(true);
    const [request] = await their.receiver.waitFor('device.enrolled');
    expect(request?.body.orgId).toBe(foreign.orgId);
    expect(their.receiver.received).toHaveLength(1);

    const delivered = await eventually(async () => {
      const { data } = must(await ours.client.get(`/partner-webhooks/${id}/deliveries?status=delivered`), 200);
      if (data.length < 2) throw new Error('not both are delivered yet');
      return data as { orgId: string }[];
    });
    expect(delivered.map(({ orgId }) => orgId).sort()).toEqual(organizations.map(({ orgId }) => orgId).sort());
    const page = async (cursor: string) =>
      must(await ours.client.get(`/partner-webhooks/${id}/deliveries?limit=1&cursor=${cursor}`), 200);
    const first = await page('');
    const second = await page(first.pagination.nextCursor as string);
    const seen = [...first.data, ...second.data] as { orgId: string }[];
    expect(seen.map(({ orgId }) => orgId)).toEqual(delivered.map(({ orgId }) => orgId));
    expect(second.pagination).toEqual({ nextCursor: null, limit: 1 });
    expect((await theirs.client.get(`/partner-webhooks/${id}`)).status).toBe(404);
    expect((await theirs.client.get(`/partner-webhooks/${id}/deliveries`)).status).toBe(404);
    expect((await ours.client.get(`/webhooks/${id}`)).status).toBe(404);
    expect((await ours.client.delete(`/partner-webhooks/${id}`)).status).toBe(200);
    expect((await ours.client.get(`/partner-webhooks/${id}`)).status).toBe(404);
  });

  it('gets what happens to organizations of the partner themselves', async () => {
    const [ours, theirs] = [await partnerWithMfa(fleet), await partnerWithMfa(fleet)];
    const { receiver: sink, url } = await receiver();
    const events = ['organization.*', 'site.*'];
    must(await ours.client.post('/partner-webhooks', { ...input(url), events }), 201);
    await createOrganization(theirs.client);
    const { orgId, siteId } = await createOrganization(ours.client);
    const [created] = await sink.waitFor('organization.created');
    expect(created?.body).toMatchObject({ orgId, data: { organizationId: orgId, status: 'active' } });
    // While the organization is suspended, only the deliveries of its own changes are sent.
    const [site] = await sink.waitFor('site.created');
    expect(site?.body).toMatchObject({ orgId, data: { siteId } });
    must(await ours.client.patch(`/orgs/organizations/${orgId}`, { status: 'suspended' }), 200);
    const [updated] = await sink.waitFor('organization.updated');
    expect(updated?.body).toMatchObject({ orgId, data: { organizationId: orgId, status: 'suspended' } });
    must(await ours.client.delete(`/orgs/organizations/${orgId}`), 200);
    const [deleted] = await sink.waitFor('organization.deleted');
    expect(deleted?.body).toMatchObject({ orgId, data: { organizationId: orgId } });
    expect(new Set(sink.received.map(({ body }) => body.orgId))).toEqual(new Set([orgId]));
  });

  it('gets changes of API keys and invitations of its organizations, without any secret', async () => {
    const [ours, theirs] = [await partnerWithMfa(fleet), await partnerWithMfa(fleet)];
    const [our, their] = [await receiver(), await receiver()];
    const events = ['api_key.*', 'user.invited'];
    must(await ours.client.post('/partner-webhooks', { ...input(our.url), events }), 201);
    must(await theirs.client.post('/partner-webhooks', { ...input(their.url), events }), 201);
    const [{ orgId }, foreign] = [await createOrganization(ours.client), await createOrganization(theirs.client)];

    const created = must(
      await ours.client.post('/api-keys', { orgId, name: 'Reports', scopes: ['devices:read'] }),
      201,
    );
    must(await ours.client.patch(`/api-keys/${created.id}`, { name: 'Monthly reports' }), 200);
    const rotated = must(await ours.client.post(`/api-keys/${created.id}/rotate`, {}), 200);
    must(await ours.client.delete(`/api-keys/${created.id}`), 200);
    const roles = must(await ours.client.get(`/users/roles?orgId=${orgId}&limit=100`), 200).data;
    const roleId = (roles as { id: string; name: string }[]).find(({ name }) => name === 'Org Technician')?.id;
    const email = `invited-${Date.now()}@users.test`;
    const user = must(await ours.client.post('/users/invite', { orgId, email, name: 'Robin Vale', roleId }), 201);
    const token = await new MailboxClient(fleet.mailboxUrl).token(email);

    const key = { apiKeyId: created.id, name: 'Reports', keyPrefix: created.keyPrefix, scopes: ['devices:read'] };
    const dataOf = async (type: string) => {
      const [request] = await our.receiver.waitFor(type);
      expect([request.body.orgId, hasValidSignature(request, SECRET)]).toEqual([orgId, true]);
      return request.body.data;
    };
    expect(await dataOf('api_key.created')).toEqual({
      ...key,
      expiresAt: null,
      principalId: null,
      createdBy: ours.userId,
    });
    const name = 'Monthly reports';
    expect(await dataOf('api_key.updated')).toMatchObject({ ...key, name, fields: ['name'] });
    const { keyPrefix } = rotated;
    expect(await dataOf('api_key.rotated')).toMatchObject({ ...key, name, keyPrefix });
    expect(await dataOf('api_key.revoked')).toMatchObject({ ...key, name, keyPrefix });
    expect(await dataOf('user.invited')).toEqual({
      userId: user.id,
      email,
      name: 'Robin Vale',
      roleId,
      invitedBy: ours.userId,
    });
    const bodies = our.receiver.received.map(({ rawBody }) => rawBody).join();
    for (const secret of [created.key, rotated.key, token] as string[]) {
      const hash = createHash('sha256').update(secret);
      const [hex, base64] = [hash.copy().digest('hex'), hash.copy().digest('base64')];
      for (const text of [secret, secret.slice(12), hex, base64]) expect(bodies).not.toContain(text);
    }

    must(await theirs.client.post('/api-keys', { orgId: foreign.orgId, name: 'Theirs', scopes: [] }), 201);
    await their.receiver.waitFor('api_key.created');
    expect(their.receiver.received.map(({ body }) => body.orgId)).toEqual([foreign.orgId]);
    expect(our.receiver.received.map(({ body }) => body.type).sort()).toEqual([
      'api_key.created',
      'api_key.revoked',
      'api_key.rotated',
      'api_key.updated',
      'user.invited',
    ]);
  });

  it('can be created by administrators of the partner with a second factor only', async () => {
    const { url } = await receiver();
    const withoutFactor = await registerPartner(fleet);
    const refused = await withoutFactor.client.post('/partner-webhooks', input(url));
    expect([refused.status, refused.body.code]).toEqual([403, 'mfa_required']);
    const { client } = await partnerWithMfa(fleet);
    const malformed = await client.post('/partner-webhooks', { ...input(url), events: ['moon.full'] });
    expect([malformed.status, malformed.body.code]).toEqual([400, 'unsupported_event_type']);
    expect((await new ApiClient(fleet.baseUrl).get('/partner-webhooks')).status).toBe(401);
  });
});
