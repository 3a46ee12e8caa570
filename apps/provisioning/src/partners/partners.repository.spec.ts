import { randomUUID } from 'node:crypto';
import { partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { PartnersRepository } from './partners.repository.js';

describe('PartnersRepository', () => {
  let database: ProvisioningTestDatabase;
  const partners = new PartnersRepository();

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
  });
  afterAll(() => database?.stop());

  it('serializes transactions that lock the same partner', async () => {
    const partnerId = randomUUID();
    const order: string[] = [];
    const work = (name: string) =>
      database.tenants.transaction(partnerCaller(partnerId), async (tx) => {
        await partners.lockOrganizations(tx, partnerId);
        order.push(`${name} starts`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        order.push(`${name} ends`);
      });
    await Promise.all([work('a'), work('b')]);
    expect(order[0].split(' ')[0]).toBe(order[1].split(' ')[0]);
  });

  describe('counters', () => {
    const countsOf = async (partnerId: string) =>
      database.tenants.transaction(partnerCaller(partnerId), async (tx) => [
        await partners.countOrganizations(tx, partnerId),
        await partners.countDevices(tx, partnerId),
      ]);
    const shownCounts = async (table: 'organization_count' | 'site_count', id: string) => {
      const key = table === 'site_count' ? 'site_id' : 'org_id';
      const { rows } = await database.admin.query(`SELECT devices FROM ${table} WHERE ${key} = $1`, [id]);
      return rows[0]?.devices ?? 0;
    };
    const setDeleted = (orgId: string, isDeleted: boolean) =>
      database.admin.query(`UPDATE organization SET deleted_at = ${isDeleted ? 'now()' : 'NULL'} WHERE id = $1`, [
        orgId,
      ]);

    it('follow creation, moves, decommissioning and deletion', async () => {
      const partnerId = randomUUID();
      const orgId = await database.createOrganization(partnerId);
      const otherOrgId = await database.createOrganization(partnerId);
      const [siteA, siteB] = [
        await database.createSite(partnerId, orgId, 'A'),
        await database.createSite(partnerId, orgId, 'B'),
      ];
      const moved = await database.createDevice(partnerId, orgId, { site_id: siteA });
      const ended = await database.createDevice(partnerId, orgId, { site_id: siteA });
      await database.createDevice(partnerId, orgId, { status: 'decommissioned' });
      await database.createDevice(partnerId, otherOrgId);
      expect(await countsOf(partnerId)).toEqual([2, 3]);
      await database.admin.query('UPDATE device SET site_id = $2 WHERE id = $1', [moved, siteB]);
      await database.admin.query('UPDATE device SET decommissioned_at = now() WHERE id = $1', [ended]);
      expect(await countsOf(partnerId)).toEqual([2, 2]);
      expect([await shownCounts('site_count', siteA), await shownCounts('site_count', siteB)]).toEqual([0, 1]);
      expect(await shownCounts('organization_count', orgId)).toBe(1);
      const state = await database.admin.query('SELECT status FROM device_state WHERE device_id = $1', [ended]);
      expect(state.rows).toEqual([{ status: 'decommissioned' }]);

      await setDeleted(orgId, true);
      expect(await countsOf(partnerId)).toEqual([1, 1]);
      await database.admin.query('UPDATE device SET decommissioned_at = now() WHERE id = $1', [moved]);
      expect(await countsOf(partnerId)).toEqual([1, 1]);
      await setDeleted(orgId, false);
      expect(await countsOf(partnerId)).toEqual([2, 1]);
      await database.admin.query('DELETE FROM device WHERE org_id = $1', [otherOrgId]);
      expect(await countsOf(partnerId)).toEqual([2, 0]);
    });

    it('agree with the rows after concurrent changes of one partner', async () => {
      const partnerId = randomUUID();
      const orgIds = [await database.createOrganization(partnerId), await database.createOrganization(partnerId)];
      await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const id = await database.createDevice(partnerId, orgIds[n % 2]);
          if (n % 3 === 0)
            await database.admin.query('UPDATE device SET decommissioned_at = now() WHERE id = $1', [id]);
          if (n === 10) await setDeleted(orgIds[1], true);
        }),
      );
      const { rows } = await database.admin.query(
        `SELECT count(*)::int AS devices FROM device d JOIN organization o ON o.id = d.org_id AND o.deleted_at IS NULL
          WHERE d.partner_id = $1 AND d.decommissioned_at IS NULL`,
        [partnerId],
      );
      expect(await countsOf(partnerId)).toEqual([1, rows[0].devices]);
    });
  });
});
