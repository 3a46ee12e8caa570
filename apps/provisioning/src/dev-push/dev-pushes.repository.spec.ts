import { randomBytes, randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import { organizationCaller, partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { DevPushesRepository } from './dev-pushes.repository.js';

describe('DevPushesRepository', () => {
  let database: ProvisioningTestDatabase;
  let pushes: DevPushesRepository;
  const partnerId = randomUUID();
  let orgId: string;
  let deviceId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    pushes = new DevPushesRepository(database.tenants, database.worker);
    orgId = await database.createOrganization(partnerId);
    deviceId = await database.createDevice(partnerId, orgId);
  });
  afterAll(() => database?.stop());

  const create = async () => {
    const [id, tokenHash] = [randomUUID(), randomBytes(32)];
    await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      pushes.create(tx, {
        ...{ id, partnerId, orgId, deviceId, tokenHash },
        ...{ checksum: 'a'.repeat(64), bytes: '7', version: '1', component: 'agent' },
      }),
    );
    return { id, tokenHash };
  };
  const claim = (tokenHash: Buffer, device = deviceId, caller = organizationCaller(partnerId, orgId)) =>
    database.tenants.transaction(caller, (tx) => pushes.claim(tx, device, tokenHash));

  it('gives a push to its device once, also when it asks twice at the same time', async () => {
    const { id, tokenHash } = await create();
    const results = await Promise.allSettled([claim(tokenHash), claim(tokenHash)]);
    const values = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(values).toEqual([{ id, bytes: '7', checksum: 'a'.repeat(64) }]);
    await expect(claim(tokenHash)).rejects.toThrow(NotFoundError);
  });

  it('gives a push to no other device, to no other tenant, and to none after five minutes', async () => {
    const { id, tokenHash } = await create();
    const sibling = await database.createDevice(partnerId, orgId);
    await expect(claim(tokenHash, sibling)).rejects.toThrow(NotFoundError);
    await expect(claim(tokenHash, deviceId, partnerCaller(randomUUID()))).rejects.toThrow(NotFoundError);
    await expect(claim(randomBytes(32))).rejects.toThrow(NotFoundError);
    const { rows } = await database.admin.query(
      'SELECT expires_at - created_at AS lifetime FROM dev_push WHERE id = $1',
      [id],
    );
    expect(rows[0].lifetime).toMatchObject({ minutes: 5 });
    await database.admin.query('UPDATE dev_push SET expires_at = now() WHERE id = $1', [id]);
    await expect(claim(tokenHash)).rejects.toThrow(NotFoundError);
  });

  it('deletes pushes a day after they ended', async () => {
    const [ended, recent] = [await create(), await create()];
    await database.admin.query(`UPDATE dev_push SET expires_at = now() - interval '25 h' WHERE id = $1`, [ended.id]);
    await pushes.purge();
    const { rows } = await database.admin.query('SELECT id FROM dev_push WHERE id = ANY ($1)', [[ended.id, recent.id]]);
    expect(rows).toEqual([{ id: recent.id }]);
  });
});
