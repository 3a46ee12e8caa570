import {
  ApiClient,
  buildEnrollment,
  connectToFleet,
  createOrganization,
  eventually,
  inviteAndAccept,
  partnerWithMfa,
  signInAdmin,
} from '@rmm/testing';
import { createApiKey, machine } from '../credentials/machines.js';
import { EventPublisher } from '../outages/event-publisher.js';
import { enrollmentKey, must } from '../steps.js';
import { BehavingReceiver } from '../webhooks/behaving-receiver.js';
import { eventsFor, WebhookTenants } from '../webhooks/webhook-tenants.js';
import { listAcceptedAfter, query, untilAllAccepted, withBaseUrl, type TenantCall } from './tenant-state.js';

describe('a deleted organization', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let partnerId: string;

  beforeAll(async () => {
    ({ client, partnerId } = await partnerWithMfa(fleet));
  });

  /** An organization with a member, an agent, an API key and an enrollment key. */
  async function buildOrganization() {
    const { orgId, siteId } = await createOrganization(client);
    const roles = must(await client.get(`/users/roles?orgId=${orgId}`), 200).data as { id: string; name: string }[];
    const roleId = roles.find((role) => role.name === 'Org Admin')?.id;
    const member = (await inviteAndAccept(fleet, client, { roleId, orgId })).client;
    const rollOut = await enrollmentKey(client, orgId, { maxUsage: 50 });
    const agent = must(await new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(rollOut)), 201);
    const { key: apiKey } = await createApiKey(client, orgId);
    return { orgId, siteId, member, rollOut, agent, apiKey };
  }
  type Organization = Awaited<ReturnType<typeof buildOrganization>>;

  /** Returns the calls of the organization's member, key and agent at every replica of the services they use. */
  function callsOf({ orgId, member, agent, apiKey }: Organization): TenantCall[] {
    const as = (path: string, of: ApiClient) => (url: string) => withBaseUrl(of, url).get(path);
    const bearer = new ApiClient(fleet.baseUrl).as({ bearer: agent.authToken as string });
    const calls = [
      { service: 'identity', by: 'member', send: as('/users', member) },
      { service: 'credentials', by: 'member', send: as('/api-keys', member) },
      { service: 'provisioning', by: 'member', send: as('/devices', member) },
      { service: 'webhook-dispatcher', by: 'member', send: as('/webhooks', member) },
      { service: 'webhook-dispatcher', by: 'administrator', send: as(`/webhooks?orgId=${orgId}`, client) },
      { service: 'credentials', by: 'administrator', send: as(`/api-keys?orgId=${orgId}`, client) },
      {
        service: 'provisioning',
        by: 'API key',
        send: (url: string) => machine(fleet, apiKey, url).get(`/devices/${agent.deviceId}/custom-fields`),
      },
      {
        service: 'provisioning',
        by: 'agent',
        send: (url: string) => withBaseUrl(bearer, url).post(`/agents/${agent.agentId}/heartbeat`, {}),
      },
    ];
    return calls.flatMap(({ service, by, send }) => {
      const { instances } = fleet.services.find(({ name }) => name === service) ?? { instances: [] };
      return instances.map(({ port }, replica) => ({
        name: `${by} at ${service} ${replica + 1}`,
        status: async () => (await send(`http://127.0.0.1:${port}`)).status,
      }));
    });
  }

  it('is refused everywhere within a second, and accepted again once it is restored', async () => {
    const organization = await buildOrganization();
    const { orgId, rollOut } = organization;
    const calls = callsOf(organization);
    expect(calls).toHaveLength(16);
    await untilAllAccepted(calls);
    must(await client.delete(`/orgs/organizations/${orgId}`), 200);
    expect(await listAcceptedAfter(calls, 1_000)).toEqual([]);
    const late = await new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(rollOut));
    expect([401, 403]).toContain(late.status);
    expect((await client.post('/api-keys', { orgId, name: 'Late' })).body.code).toBe('organization_access_denied');
    expect((await client.get(`/orgs/organizations/${orgId}`)).status).toBe(404);

    must(await client.post(`/orgs/organizations/${orgId}/restore`), 200);
    await untilAllAccepted(calls);
    must(await new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(rollOut)), 201);
  });

  describe('with a webhook', () => {
    const tenants = new WebhookTenants(fleet);
    const publisher = new EventPublisher(fleet, 0);
    let receiver: BehavingReceiver;

    beforeEach(async () => {
      receiver = await new BehavingReceiver().start();
    });
    afterEach(async () => {
      await tenants.deleteWebhooks();
      await receiver.stop();
    });

    /** Waits until each replica of the dispatcher knows of a deletion, which is broadcast after it was committed. */
    const untilRefusedByDispatchers = async (orgId: string) => {
      const { instances = [] } = fleet.services.find(({ name }) => name === 'webhook-dispatcher') ?? {};
      expect(instances.length).toBeGreaterThan(0);
      for (const { port } of instances) {
        const replica = withBaseUrl(client, `http://127.0.0.1:${port}`);
        await eventually(async () => {
          expect((await replica.get(`/webhooks?orgId=${orgId}`)).body.code).toBe('organization_access_denied');
        });
      }
    };

    it('gets no event while a sibling does, and gets what waited once it is restored', async () => {
      const urls = ['deleted', 'sibling'].map((name) => [receiver.url('ok', name)]);
      const [deleted, sibling] = await tenants.addOrganizations(client, urls);
      const missingAt = (name: string, ids: readonly string[]) =>
        ids.filter((id) => !receiver.acceptedBy(name).has(id));
      /** Publishes events of both and waits for those of the sibling. @returns the ids of the others */
      const publish = async (count: number): Promise<string[]> => {
        const events = eventsFor([deleted, sibling], count);
        await publisher.publishAll(events);
        const idsOf = (orgId: string) => events.filter((event) => event.orgId === orgId).map(({ id }) => id);
        await eventually(() => expect(missingAt('sibling', idsOf(sibling.orgId))).toEqual([]));
        return idsOf(deleted.orgId);
      };

      const before = await publish(3);
      await eventually(() => expect(missingAt('deleted', before)).toEqual([]));
      must(await client.delete(`/orgs/organizations/${deleted.orgId}`), 200);
      await untilRefusedByDispatchers(deleted.orgId);
      const late = await publish(30);
      expect(late.filter((id) => receiver.attemptedAt('deleted').has(id))).toEqual([]);

      must(await client.post(`/orgs/organizations/${deleted.orgId}/restore`), 200);
      await eventually(() => expect(missingAt('deleted', late)).toEqual([]));
    });
  });

  it('can be deleted and restored by its own partner alone', async () => {
    const { orgId, member } = await buildOrganization();
    const theirs = (await partnerWithMfa(fleet)).client;
    expect((await theirs.delete(`/orgs/organizations/${orgId}`)).status).toBe(404);
    expect((await member.delete(`/orgs/organizations/${orgId}`)).body.code).toBe('scope_not_allowed');
    must(await client.delete(`/orgs/organizations/${orgId}`), 200);
    expect((await theirs.post(`/orgs/organizations/${orgId}/restore`)).status).toBe(404);
    const listed = must(await client.get('/orgs/organizations?deleted=true'), 200).data as { id: string }[];
    expect(listed.map(({ id }) => id)).toContain(orgId);
    expect(must(await theirs.get('/orgs/organizations?deleted=true'), 200).data).toEqual([]);
  });

  it('frees the caps, which 20 parallel creates and enrollments cannot exceed', async () => {
    const partner = await partnerWithMfa(fleet);
    const admin = await signInAdmin(fleet);
    const { orgId: kept } = await createOrganization(partner.client);
    must(await admin.patch(`/orgs/partners/${partner.partnerId}`, { maxOrganizations: 4, maxDevices: 3 }), 200);
    const burst = async () => {
      const names = Array.from({ length: 20 }, (_, n) => `Burst ${n}`);
      const responses = await Promise.all(names.map((name) => partner.client.post('/orgs/organizations', { name })));
      return responses.filter(({ status }) => status === 201).map(({ body }) => body.id as string);
    };
    // The cap travels by event: until it arrived, creates are not limited by it.
    await eventually(async () => {
      const created = await burst();
      for (const id of created) must(await partner.client.delete(`/orgs/organizations/${id}`), 200);
      expect(created).toHaveLength(2);
    });
    const created = await burst();
    expect(created).toHaveLength(2);
    must(await partner.client.delete(`/orgs/organizations/${created[0]}`), 200);
    expect(await burst()).toHaveLength(1);
    expect((await partner.client.post(`/orgs/organizations/${created[0]}/restore`)).body.code).toBe(
      'organization_limit_reached',
    );

    const rollOut = await enrollmentKey(partner.client, kept, { maxUsage: 100 });
    const enroll = () => new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(rollOut));
    const enrolled = (await Promise.all(Array.from({ length: 20 }, enroll))).filter(({ status }) => status === 201);
    expect(enrolled).toHaveLength(3);
    const [gone] = enrolled;
    must(await partner.client.delete(`/devices/${gone?.body.deviceId}`), 200);
    const agent = new ApiClient(fleet.baseUrl).as({ bearer: gone?.body.authToken as string });
    expect((await agent.post(`/agents/${gone?.body.agentId}/heartbeat`, {})).status).toBe(401);
    expect((await Promise.all(Array.from({ length: 20 }, enroll))).filter(({ status }) => status === 201)).toHaveLength(
      1,
    );
  });

  it('is erased when it can no longer be restored', async () => {
    const { orgId, agent } = await buildOrganization();
    must(await client.delete(`/orgs/organizations/${orgId}`), 200);
    await query(fleet, `UPDATE provisioning.organization SET deleted_at = now() - interval '31 days' WHERE id = $1`, [
      orgId,
    ]);
    expect((await client.post(`/orgs/organizations/${orgId}/restore`)).status).toBe(404);
    const devices = () => query(fleet, 'SELECT id FROM provisioning.device WHERE org_id = $1', [orgId]);
    await eventually(async () => expect(await devices()).toEqual([]), { timeoutMs: 40_000 });
    expect((await client.get(`/devices/${agent.deviceId}`)).status).toBe(404);
    for (const schema of ['identity', 'credentials', 'webhook_dispatcher']) {
      await eventually(async () => {
        const sql = `SELECT name, deleted FROM ${schema}.organization_directory WHERE org_id = $1`;
        expect(await query(fleet, sql, [orgId])).toEqual([{ name: 'Erased organization', deleted: true }]);
      });
    }
    await eventually(async () => {
      const page = must(await client.get('/audit-logs?action=organization.erase'), 200);
      const own = { service: 'provisioning', erased: { device: 1, site: 1 } };
      expect(page.data).toMatchObject([
        { resourceId: orgId, partnerId, details: { services: expect.arrayContaining([own]) as unknown } },
      ]);
    });
  });
});
