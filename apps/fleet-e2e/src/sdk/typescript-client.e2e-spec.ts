import { ApiError, FleetClient, verifyWebhook } from '@rmm/sdk';
import {
  connectToFleet,
  createOrganization,
  eventually,
  freshAddress,
  partnerWithMfa,
  WebhookReceiver,
} from '@rmm/testing';

describe('the TypeScript client', () => {
  const fleet = connectToFleet();
  const address = freshAddress();
  const anonymous = new FleetClient({
    baseUrl: fleet.baseUrl,
    fetch: (url, init) =>
      fetch(url, { ...init, headers: { ...(init?.headers as object), 'x-forwarded-for': address } }),
  });
  let client: FleetClient;
  let partner: Awaited<ReturnType<typeof partnerWithMfa>>;

  beforeAll(async () => {
    partner = await partnerWithMfa(fleet);
    const { bearer } = partner.client.credentials;
    client = anonymous.as({ bearer: () => bearer ?? '' });
  });

  it('creates, reads, changes and deletes records', async () => {
    const created = await client.post('/orgs/organizations', { body: { name: 'Blue Bakery' } });
    const path = { id: created.id };
    await client.patch('/orgs/organizations/{id}', { path, body: { name: 'Green Bakery' } });
    expect((await client.get('/orgs/organizations/{id}', { path })).name).toBe('Green Bakery');
    await client.delete('/orgs/organizations/{id}', { path });
    await expect(client.get('/orgs/organizations/{id}', { path })).rejects.toMatchObject({
      status: 404,
      code: 'not_found',
      requestId: expect.any(String),
    });
  });

  it('throws errors with code and problems by field', async () => {
    const error = await client.post('/orgs/organizations', { body: { name: '' } }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      status: 400,
      code: 'validation_failed',
      fieldErrors: { name: [expect.any(String)] },
    });
    await expect(anonymous.get('/orgs/organizations')).rejects.toMatchObject({ status: 401 });
  });

  it('iterates a list over its pages, by number and by cursor', async () => {
    const names = ['Alder', 'Birch', 'Cedar'];
    const { orgId } = await createOrganization(partner.client);
    for (const name of names) await client.post('/orgs/sites', { body: { orgId, name } });
    for (const first of [{}, { page: 1 }]) {
      const found: string[] = [];
      for await (const site of client.list('/orgs/sites', { query: { orgId, limit: 2, ...first } }))
        found.push(site.name);
      expect(found.sort()).toEqual([...names, 'Head Office']);
    }
    const actions = new Set<string>();
    await eventually(async () => {
      for await (const entry of client.list('/audit-logs', { query: { limit: 50 } })) actions.add(entry.action);
      expect(actions).toContain('site.create');
    });
  });

  it('reads the partner interface in full and by changes', async () => {
    const { data: principal } = await client.post('/partner-service-principals', { body: { name: 'SDK' } });
    const { key } = await client.post('/partner-service-principals/{id}/keys', {
      path: { id: principal.id },
      body: { name: 'First' },
    });
    const machine = anonymous.as({ apiKey: key });
    const { siteId } = await createOrganization(partner.client);
    const idsOf = async (exported: AsyncIterable<{ id: string }>) => {
      const ids: string[] = [];
      for await (const { id } of exported) ids.push(id);
      return ids;
    };
    const full = machine.export('/partner-api/sites', { limit: 1 });
    const ids = await eventually(() => idsOf(machine.export('/partner-api/sites', { limit: 1 })));
    expect(ids).toContain(siteId);
    expect(new Set(await idsOf(full)).size).toBe(ids.length);
    const added = await createOrganization(partner.client);
    const changes = await idsOf(machine.export('/partner-api/sites', { updatedSince: full.snapshotAt }));
    expect(changes).toEqual([added.siteId]);
  });

  it('verifies the deliveries of a webhook', async () => {
    const receiver = new WebhookReceiver();
    const url = await receiver.start();
    try {
      const { orgId } = await createOrganization(partner.client);
      const secret = 'a-secret-of-the-receiver';
      const body = { orgId, name: 'SDK', url, secret, events: ['device.*'] };
      const webhook = await client.post('/webhooks', { body });
      await client.post('/webhooks/{id}/test', { path: { id: webhook.id }, body: {} });
      const [delivery] = await receiver.waitFor('webhook.test');
      const request = { body: delivery?.rawBody ?? '', headers: delivery?.headers ?? {} };
      expect(verifyWebhook(request, secret)).toMatchObject({ type: 'webhook.test', orgId });
      expect(() => verifyWebhook(request, 'another secret')).toThrow('signature');
    } finally {
      await receiver.stop();
    }
  });
});
