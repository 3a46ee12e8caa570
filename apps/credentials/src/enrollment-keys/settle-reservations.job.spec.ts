import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { ENROLLMENT_KEYS_CONFIRM, ENROLLMENT_KEYS_RELEASE, ENROLLMENT_KEYS_RESERVE } from '@rmm/contracts';
import { hashEnrollmentKey } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import { buildCustomer, type Customer } from '../../test/build-customer.js';
import { CredentialsTestApp, PEPPER } from '../../test/credentials-test-app.js';
import { EnrollmentReservationsService } from './enrollment-reservations.service.js';

/** An enrollment reserves, creates its device, and confirms or releases; here it crashes after each step. */
describe('settlement of enrollment reservations', () => {
  let service: CredentialsTestApp;
  let replica: INestApplication;
  let ours: Customer;
  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    replica = await service.startReplica();
    ours = await buildCustomer(service);
  });
  afterAll(async () => {
    await replica?.close();
    await service?.stop();
  });
  afterEach(() => settle());

  const settle = (app = service.app) => app.get(EnrollmentReservationsService).settle(0);
  const confirm = (deviceId: string) => service.request(ENROLLMENT_KEYS_CONFIRM, { deviceId });
  const release = (deviceId: string) => service.request(ENROLLMENT_KEYS_RELEASE, { deviceId });

  async function createKey(maxUsage: number) {
    const body = { orgId: ours.orgId, name: 'Roll-out', maxUsage };
    const { id, key } = (await ours.owner.post('/enrollment-keys', body)).body;
    const keyHashes = [hashEnrollmentKey(key, PEPPER).toString('hex')];
    /** @returns the device id of the reservation, or null */
    const reserve = async () => {
      const deviceId = randomUUID();
      const { reserved } = await service.request(ENROLLMENT_KEYS_RESERVE, { keyHashes, deviceId });
      return reserved ? deviceId : null;
    };
    return {
      id: id as string,
      reserve,
      reserved: async (count: number) =>
        (await Promise.all(Array.from({ length: count }, reserve))).filter((deviceId) => deviceId !== null),
      record: async () => (await ours.owner.get(`/enrollment-keys/${id}`)).body,
      usage: async () => (await ours.owner.get(`/enrollment-keys/${id}`)).body.usageCount,
    };
  }
  const stateOf = async (deviceId: string) =>
    (await service.admin.query('select state from enrollment_reservation where device_id = $1', [deviceId])).rows[0]
      ?.state;

  it('returns the use when provisioning crashed before it created the device', async () => {
    const key = await createKey(1);
    const [deviceId] = await key.reserved(1);
    expect(await key.record()).toMatchObject({ usageCount: 1, status: 'exhausted' });
    expect(await settle()).toBe(1);
    expect([await stateOf(deviceId), await key.record()]).toMatchObject([
      'released',
      { usageCount: 0, status: 'active' },
    ]);
    expect(await key.reserve()).not.toBeNull();
  });

  it('keeps the use when the device was created and the confirmation was lost', async () => {
    const key = await createKey(1);
    const [deviceId] = await key.reserved(1);
    service.provisioning.devices.add(deviceId);
    expect(await settle()).toBe(1);
    expect([await stateOf(deviceId), await key.usage()]).toEqual(['confirmed', 1]);
    expect(await release(deviceId)).toEqual({ settled: false });
    expect([await key.usage(), await key.reserve()]).toEqual([1, null]);
  });

  it('returns the use once when the release was lost or late', async () => {
    const key = await createKey(5);
    const [created, failed] = await key.reserved(2);
    await confirm(created);
    expect(await settle()).toBe(1);
    expect([await release(failed), await confirm(failed)]).toEqual([{ settled: false }, { settled: false }]);
    expect(await key.usage()).toBe(1);
  });

  it('settles nothing while provisioning is unavailable', async () => {
    const key = await createKey(2);
    const [created, failed] = await key.reserved(2);
    service.provisioning.devices.add(created);
    service.provisioning.unavailable = true;
    try {
      await expect(settle()).rejects.toMatchObject({ code: 'service_unavailable' });
    } finally {
      service.provisioning.unavailable = false;
    }
    expect([await stateOf(created), await stateOf(failed), await key.usage()]).toEqual(['reserved', 'reserved', 2]);
    expect(await settle()).toBe(2);
    expect([await stateOf(created), await stateOf(failed), await key.usage()]).toEqual(['confirmed', 'released', 1]);
  });

  it('leaves the reservation of a running enrollment alone', async () => {
    const key = await createKey(1);
    const [deviceId] = await key.reserved(1);
    expect(await service.app.get(EnrollmentReservationsService).settle()).toBe(0);
    expect([await stateOf(deviceId), await key.usage()]).toEqual(['reserved', 1]);
  });

  it('settles once with two replicas and late messages of provisioning', async () => {
    const key = await createKey(100);
    const deviceIds = await key.reserved(30);
    deviceIds.slice(0, 10).forEach((deviceId) => service.provisioning.devices.add(deviceId));
    const late = [...deviceIds.slice(5, 10).map(confirm), ...deviceIds.slice(25).map(release)];
    const [here, there, ...words] = await Promise.all([settle(), settle(replica), ...late]);
    expect(here + there + words.filter(({ settled }) => settled).length).toBe(30);
    expect(await key.usage()).toBe(10);
    const { rows } = await service.admin.query(
      'select state, count(*)::int from enrollment_reservation where enrollment_key_id = $1 group by state order by state',
      [key.id],
    );
    expect(rows).toEqual([
      { state: 'confirmed', count: 10 },
      { state: 'released', count: 20 },
    ]);
  });

  it('settles in time by itself', async () => {
    const key = await createKey(1);
    const [deviceId] = await key.reserved(1);
    await service.admin.query(
      `update enrollment_reservation set reserved_at = now() - interval '31 seconds' where device_id = $1`,
      [deviceId],
    );
    await eventually(async () => expect([await stateOf(deviceId), await key.usage()]).toEqual(['released', 0]), {
      timeoutMs: 25_000,
    });
  });

  it('gives ten uses to ten of fifty concurrent agents, and returned uses to others', async () => {
    const key = await createKey(10);
    const winners = await key.reserved(50);
    expect([winners.length, await key.usage()]).toEqual([10, 10]);
    await Promise.all([...winners.slice(0, 6).map(confirm), ...winners.slice(6).map(release)]);
    expect(await key.usage()).toBe(6);
    const heirs = await key.reserved(50);
    expect([heirs.length, await key.usage()]).toEqual([4, 10]);
    await Promise.all(heirs.map(confirm));
    expect(await key.reserve()).toBeNull();
  });

  it('deletes reservations of a deleted key, and a week after they were settled', async () => {
    const key = await createKey(2);
    const [open, settled] = await key.reserved(2);
    await confirm(settled);
    expect((await ours.owner.delete(`/enrollment-keys/${key.id}`)).status).toBe(200);
    expect([await settle(), await stateOf(open)]).toEqual([1, 'released']);
    await service.admin.query(
      `update enrollment_reservation set settled_at = now() - interval '8 days' where device_id = $1`,
      [settled],
    );
    await service.app.get(EnrollmentReservationsService).deleteSettled();
    expect([await stateOf(settled), await stateOf(open)]).toEqual([undefined, 'released']);
  });
});
