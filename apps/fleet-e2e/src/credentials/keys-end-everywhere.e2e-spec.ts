import {
  ApiClient,
  enrollTotp,
  connectToFleet,
  inviteAndAccept,
  createOrganization,
  partnerWithMfa,
  signInAdmin,
  untilStatus,
} from '@rmm/testing';
import { must } from '../steps.js';
import { enrollDevice, machine, createApiKey } from './machines.js';

/** Key records are cached for a minute: an earlier refusal shows that the invalidation arrived. */
const LONG_BEFORE_EXPIRY_MS = 5_000;

/** Every replica of provisioning, each called on its own port. */
describe('a key stops working on every replica at once', () => {
  const fleet = connectToFleet();
  const replicas = (fleet.services.find(({ name }) => name === 'provisioning')?.instances ?? []).map(
    ({ port }) => `http://127.0.0.1:${port}`,
  );
  let client: ApiClient;
  let orgId: string;
  let path: string;

  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
    orgId = (await createOrganization(client)).orgId;
    path = `/devices/${await enrollDevice(fleet, client, orgId)}/custom-fields`;
  });

  const at = (replica: string, key: string, of = path) => machine(fleet, key, replica).get(of);

  async function endsEverywhere(key: string, change: () => Promise<unknown>, of = path): Promise<void> {
    for (const replica of replicas) must(await at(replica, key, of), 200);
    await change();
    const changedAt = performance.now();
    await Promise.all(
      replicas.map(async (replica) => {
        for (;;) {
          const response = await at(replica, key, of);
          if (response.status === 401) return expect(response.body.code).toBe('invalid_api_key');
          const ms = performance.now() - changedAt;
          if (ms > LONG_BEFORE_EXPIRY_MS) throw new Error(`${replica} still answers ${response.status}`);
        }
      }),
    );
    process.stdout.write(`    ${Math.round(performance.now() - changedAt)} ms\n`);
  }

  const worksEverywhere = (key: string, of = path) =>
    Promise.all(replicas.map((replica) => untilStatus(() => at(replica, key, of), 200)));

  it('(two replicas are running)', () => expect(replicas).toHaveLength(2));

  it('when it is revoked', async () => {
    const { id, key } = await createApiKey(client, orgId);
    await endsEverywhere(key, async () => must(await client.delete(`/api-keys/${id}`), 200));
    expect((await client.patch(`/api-keys/${id}`, { name: 'x' })).body.code).toBe('api_key_not_active');
  });

  it('when it is rotated, and the new key works', async () => {
    const { id, key } = await createApiKey(client, orgId);
    let fresh = '';
    await endsEverywhere(key, async () => (fresh = must(await client.post(`/api-keys/${id}/rotate`), 200).key));
    for (const replica of replicas) must(await at(replica, fresh), 200);
  });

  it('when it is rotated with an overlap, at the end of the overlap', async () => {
    const { id, key } = await createApiKey(client, orgId);
    for (const replica of replicas) must(await at(replica, key), 200);
    const { key: fresh } = must(await client.post(`/api-keys/${id}/rotate`, { overlapSeconds: 2 }), 200);
    for (const replica of replicas) must(await at(replica, fresh), 200);
    await endsEverywhere(key, () => Promise.resolve());
  });

  it('when it expires', async () => {
    const { key } = await createApiKey(client, orgId, { expiresAt: new Date(Date.now() + 3_000).toISOString() });
    await endsEverywhere(key, () => Promise.resolve());
  });

  it('when its principal is disabled', async () => {
    const principal = must(
      await client.post('/service-principals', { orgId, name: 'Sync', scopes: ['devices:read'] }),
      201,
    );
    const disable = async () => must(await client.post(`/service-principals/${principal.id}/disable`), 200);
    await endsEverywhere(principal.key, disable);
  });

  it('when its principal is rotated', async () => {
    const principal = must(
      await client.post('/service-principals', { orgId, name: 'Sync', scopes: ['devices:read'] }),
      201,
    );
    let fresh = '';
    const rotate = async () => (fresh = must(await client.post(`/service-principals/${principal.id}/rotate`), 200).key);
    await endsEverywhere(principal.key, rotate);
    for (const replica of replicas) must(await at(replica, fresh), 200);
  });

  describe('when its creator', () => {
    /** Creates a user with a separate role, who creates a key. */
    async function creator() {
      const pairs = [
        ['organizations', 'read'],
        ['organizations', 'write'],
        ['devices', 'read'],
      ].map(([resource, action]) => ({ resource, action }));
      const name = `Makers ${Math.random()}`;
      const roleId = must(await client.post('/roles', { name, permissions: pairs }), 201).id as string;
      const user = await inviteAndAccept(fleet, client, { roleId, orgAccess: 'all' });
      const own = (await enrollTotp(user.client)).client;
      return { user, roleId, pairs, ...(await createApiKey(own, orgId, { scopes: ['devices:read'] })) };
    }

    it('is removed', async () => {
      const { key, user } = await creator();
      await endsEverywhere(key, async () => must(await client.delete(`/users/${user.userId}`), 200));
    });

    it('loses a permission the key needs, and works again when it is restored', async () => {
      const { key, roleId, pairs } = await creator();
      const shrink = pairs.filter(({ resource }) => resource !== 'devices');
      await endsEverywhere(key, async () => must(await client.patch(`/roles/${roleId}`, { permissions: shrink }), 200));
      must(await client.patch(`/roles/${roleId}`, { permissions: pairs }), 200);
      await worksEverywhere(key);
    });

    it('is disabled by the platform', async () => {
      const { key, user } = await creator();
      const admin = await signInAdmin(fleet);
      const disable = async () => must(await admin.patch(`/users/${user.userId}`, { status: 'disabled' }), 200);
      await endsEverywhere(key, disable);
    });

    it('is removed, unless a principal owns the key', async () => {
      const { key, id, user } = await creator();
      const principal = must(
        await client.post('/service-principals', { orgId, name: 'Heir', scopes: ['devices:read'] }),
        201,
      );
      must(await client.post(`/service-principals/${principal.id}/migrate-key`, { keyId: id }), 200);
      must(await client.delete(`/users/${user.userId}`), 200);
      for (const replica of replicas) must(await at(replica, key), 200);
      await endsEverywhere(key, async () =>
        must(await client.post(`/service-principals/${principal.id}/disable`), 200),
      );
    });
  });

  it('when its organization is suspended, and works again when it is active', async () => {
    const own = await createOrganization(client);
    const of = `/devices/${await enrollDevice(fleet, client, own.orgId)}/custom-fields`;
    const { key } = await createApiKey(client, own.orgId);
    const set = (status: string) => client.patch(`/orgs/organizations/${own.orgId}`, { status });
    await endsEverywhere(key, async () => must(await set('suspended'), 200), of);
    must(await set('active'), 200);
    await worksEverywhere(key, of);
  });

  it('when its partner is suspended', async () => {
    const partner = await partnerWithMfa(fleet);
    const own = await createOrganization(partner.client);
    const of = `/devices/${await enrollDevice(fleet, partner.client, own.orgId)}/custom-fields`;
    const { key } = await createApiKey(partner.client, own.orgId);
    const admin = await signInAdmin(fleet);
    const suspend = async () =>
      must(await admin.patch(`/orgs/partners/${partner.partnerId}`, { status: 'suspended' }), 200);
    await endsEverywhere(key, suspend, of);
  });
});
