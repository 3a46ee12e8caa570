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
import { enrollDevice, machine, makeApiKey } from './machines.js';

/** Records live for a minute: what is refused sooner was refused because the replica was told. */
const LONG_BEFORE_EXPIRY_MS = 5_000;

/** Every replica of provisioning, each asked on its own port. */
describe('a key ends on every replica at once', () => {
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
          const answer = await at(replica, key, of);
          if (answer.status === 401) return expect(answer.body.code).toBe('invalid_api_key');
          const ms = performance.now() - changedAt;
          if (ms > LONG_BEFORE_EXPIRY_MS) throw new Error(`${replica} still answers ${answer.status}`);
        }
      }),
    );
    process.stdout.write(`    ${Math.round(performance.now() - changedAt)} ms\n`);
  }

  const worksEverywhere = (key: string, of = path) =>
    Promise.all(replicas.map((replica) => untilStatus(() => at(replica, key, of), 200)));

  it('of which there are two', () => expect(replicas).toHaveLength(2));

  it('by revocation, for good', async () => {
    const { id, key } = await makeApiKey(client, orgId);
    await endsEverywhere(key, async () => must(await client.delete(`/api-keys/${id}`), 200));
    expect((await client.patch(`/api-keys/${id}`, { name: 'x' })).body.code).toBe('api_key_not_active');
  });

  it('by rotation, after which the new one works', async () => {
    const { id, key } = await makeApiKey(client, orgId);
    let fresh = '';
    await endsEverywhere(key, async () => (fresh = must(await client.post(`/api-keys/${id}/rotate`), 200).key));
    for (const replica of replicas) must(await at(replica, fresh), 200);
  });

  it('by rotation with an overlap only after the overlap', async () => {
    const { id, key } = await makeApiKey(client, orgId);
    for (const replica of replicas) must(await at(replica, key), 200);
    const { key: fresh } = must(await client.post(`/api-keys/${id}/rotate`, { overlapSeconds: 2 }), 200);
    for (const replica of replicas) must(await at(replica, fresh), 200);
    await endsEverywhere(key, () => Promise.resolve());
  });

  it('by its end', async () => {
    const { key } = await makeApiKey(client, orgId, { expiresAt: new Date(Date.now() + 3_000).toISOString() });
    await endsEverywhere(key, () => Promise.resolve());
  });

  it('by disabling its principal', async () => {
    const principal = must(
      await client.post('/service-principals', { orgId, name: 'Sync', scopes: ['devices:read'] }),
      201,
    );
    const disable = async () => must(await client.post(`/service-principals/${principal.id}/disable`), 200);
    await endsEverywhere(principal.key, disable);
  });

  it('by rotating its principal', async () => {
    const principal = must(
      await client.post('/service-principals', { orgId, name: 'Sync', scopes: ['devices:read'] }),
      201,
    );
    let fresh = '';
    const rotate = async () => (fresh = must(await client.post(`/service-principals/${principal.id}/rotate`), 200).key);
    await endsEverywhere(principal.key, rotate);
    for (const replica of replicas) must(await at(replica, fresh), 200);
  });

  describe('with the authority of its creator:', () => {
    /** Somebody with a role of their own who made a key. */
    async function creator() {
      const pairs = [
        ['organizations', 'read'],
        ['organizations', 'write'],
        ['devices', 'read'],
      ].map(([resource, action]) => ({ resource, action }));
      const name = `Makers ${Math.random()}`;
      const roleId = must(await client.post('/roles', { name, permissions: pairs }), 201).id as string;
      const person = await inviteAndAccept(fleet, client, { roleId, orgAccess: 'all' });
      const own = (await enrollTotp(person.client)).client;
      return { person, roleId, pairs, ...(await makeApiKey(own, orgId, { scopes: ['devices:read'] })) };
    }

    it('when they leave', async () => {
      const { key, person } = await creator();
      await endsEverywhere(key, async () => must(await client.delete(`/users/${person.userId}`), 200));
    });

    it('when their role loses what the key needs, and comes back with it', async () => {
      const { key, roleId, pairs } = await creator();
      const shrink = pairs.filter(({ resource }) => resource !== 'devices');
      await endsEverywhere(key, async () => must(await client.patch(`/roles/${roleId}`, { permissions: shrink }), 200));
      must(await client.patch(`/roles/${roleId}`, { permissions: pairs }), 200);
      await worksEverywhere(key);
    });

    it('when the platform disables them', async () => {
      const { key, person } = await creator();
      const admin = await signInAdmin(fleet);
      const disable = async () => must(await admin.patch(`/users/${person.userId}`, { status: 'disabled' }), 200);
      await endsEverywhere(key, disable);
    });

    it('but not when it was handed to a principal', async () => {
      const { key, id, person } = await creator();
      const principal = must(
        await client.post('/service-principals', { orgId, name: 'Heir', scopes: ['devices:read'] }),
        201,
      );
      must(await client.post(`/service-principals/${principal.id}/migrate-key`, { keyId: id }), 200);
      must(await client.delete(`/users/${person.userId}`), 200);
      for (const replica of replicas) must(await at(replica, key), 200);
      await endsEverywhere(key, async () =>
        must(await client.post(`/service-principals/${principal.id}/disable`), 200),
      );
    });
  });

  it('with its organization, and lives on when that does', async () => {
    const own = await createOrganization(client);
    const of = `/devices/${await enrollDevice(fleet, client, own.orgId)}/custom-fields`;
    const { key } = await makeApiKey(client, own.orgId);
    const set = (status: string) => client.patch(`/orgs/organizations/${own.orgId}`, { status });
    await endsEverywhere(key, async () => must(await set('suspended'), 200), of);
    must(await set('active'), 200);
    await worksEverywhere(key, of);
  });

  it('with its partner', async () => {
    const partner = await partnerWithMfa(fleet);
    const own = await createOrganization(partner.client);
    const of = `/devices/${await enrollDevice(fleet, partner.client, own.orgId)}/custom-fields`;
    const { key } = await makeApiKey(partner.client, own.orgId);
    const admin = await signInAdmin(fleet);
    const suspend = async () =>
      must(await admin.patch(`/orgs/partners/${partner.partnerId}`, { status: 'suspended' }), 200);
    await endsEverywhere(key, suspend, of);
  });
});
