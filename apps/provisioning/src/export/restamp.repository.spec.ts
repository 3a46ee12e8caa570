import { randomUUID } from 'node:crypto';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { RestampRepository } from './restamp.repository.js';

describe('RestampRepository', () => {
  let database: ProvisioningTestDatabase;
  let restamps: RestampRepository;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    restamps = new RestampRepository(database.worker);
  });
  afterAll(() => database?.stop());

  const setStatus = (orgId: string, status: string) =>
    database.admin.query('UPDATE organization SET status = $2 WHERE id = $1', [orgId, status]);
  const stampsOf = async (orgId: string) =>
    (
      await database.admin.query<{ stamp: string }>(
        `SELECT updated_at::text AS stamp FROM site WHERE org_id = $1
         UNION ALL SELECT updated_at::text FROM device WHERE org_id = $1
         UNION ALL SELECT updated_at::text FROM device_hardware WHERE org_id = $1
         UNION ALL SELECT updated_at::text FROM export_record WHERE org_id = $1`,
        [orgId],
      )
    ).rows.map(({ stamp }) => stamp);
  const stampAll = async (limit: number) => {
    let batches = 0;
    for (const id of await restamps.listRequests(10)) while (await restamps.stampRecords(id, limit)) batches += 1;
    return batches;
  };

  it('stamps every record of an organization that is visible again, in batches, and nothing else', async () => {
    const partnerId = randomUUID();
    const [orgId, other] = [await database.createOrganization(partnerId), await database.createOrganization(partnerId)];
    for (const id of [orgId, other]) {
      for (const name of ['A', 'B', 'C']) await database.createSite(partnerId, id, name);
      for (let n = 0; n < 3; n += 1) await database.createDevice(partnerId, id, { hardware: { cpuCores: n } });
    }
    const [before, untouched] = [await stampsOf(orgId), await stampsOf(other)];
    await setStatus(orgId, 'suspended');
    expect(await stampAll(2)).toBe(0);
    await setStatus(orgId, 'active');
    expect(await stampAll(2)).toBeGreaterThanOrEqual(6);
    const after = await stampsOf(orgId);
    expect(after).toHaveLength(15);
    const latest = before.toSorted().at(-1) ?? '';
    expect(after.every((stamp) => stamp > latest)).toBe(true);
    expect(await stampsOf(other)).toEqual(untouched);
    expect((await database.admin.query('SELECT FROM export_restamp')).rowCount).toBe(0);
  });

  it('leaves records that another transaction has locked for later, without waiting for them', async () => {
    const partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    const locked = await database.createDevice(partnerId, orgId);
    for (let n = 0; n < 2; n += 1) await database.createDevice(partnerId, orgId);
    await setStatus(orgId, 'suspended');
    const latest = (await stampsOf(orgId)).toSorted().at(-1) ?? '';
    await setStatus(orgId, 'active');
    const countUnstamped = async () => (await stampsOf(orgId)).filter((stamp) => stamp <= latest).length;
    const other = await database.admin.connect();
    try {
      await other.query('BEGIN');
      await other.query('SELECT FROM device WHERE id = $1 FOR UPDATE', [locked]);
      await stampAll(10);
      expect(await countUnstamped()).toBe(1);
    } finally {
      await other.query('ROLLBACK');
      other.release();
    }
    await stampAll(10);
    expect(await countUnstamped()).toBe(0);
  });

  it('does not stamp the records of an organization whose name or settings change', async () => {
    const partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    await database.createSite(partnerId, orgId);
    await database.admin.query(`UPDATE organization SET name = 'New', status = 'trial' WHERE id = $1`, [orgId]);
    expect(await stampAll(2)).toBe(0);
  });

  it('moves the stamp of a device with its hardware and its groups, not with its state', async () => {
    const partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    const id = await database.createDevice(partnerId, orgId, { hardware: { cpuCores: 4 } });
    const { admin } = database;
    const stamp = async () =>
      (await admin.query('SELECT updated_at::text AS at FROM device WHERE id = $1', [id])).rows[0].at as string;
    let last = await stamp();
    const moves = async (sql: string, values: unknown[] = [id]) => {
      await new Promise((resolve) => setTimeout(resolve, 2));
      const { rows } = await admin.query(sql, values);
      const moved = (await stamp()) > last;
      last = await stamp();
      return { moved, rows };
    };
    const updated = (set: string) => `UPDATE device_hardware SET hardware = '${set}' WHERE device_id = $1`;
    expect((await moves(updated('{"cpuCores":8}'))).moved).toBe(true);
    expect((await moves(updated('{"cpuCores":8}'))).moved).toBe(false);
    expect((await moves('DELETE FROM device_hardware WHERE device_id = $1')).moved).toBe(true);
    const group = await moves(
      `INSERT INTO device_group (partner_id, org_id, name, name_key) VALUES ($1, $2, 'G', 'g') RETURNING id`,
      [partnerId, orgId],
    );
    expect(group.moved).toBe(false);
    const member = [group.rows[0].id, id, partnerId, orgId];
    expect((await moves('INSERT INTO device_group_member VALUES ($1, $2, $3, $4)', member)).moved).toBe(true);
    expect((await moves('DELETE FROM device_group_member WHERE device_id = $1')).moved).toBe(true);
    const state = `UPDATE device_state SET last_seen_at = now(), metrics = '{}', status = 'maintenance' WHERE device_id = $1`;
    expect((await moves(state)).moved).toBe(false);
  });
});
