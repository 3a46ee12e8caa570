import { randomUUID } from 'node:crypto';
import type { AgentCaller, Caller } from '@rmm/access';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
} from '../../../test/provisioning-test-database.js';
import { readPosture } from '../../agents/reports/posture-report.js';
import { ReportsRepository } from '../../agents/reports/reports.repository.js';
import { PostureRepository, type SummarySelection } from './posture.repository.js';

const DAY_MS = 86_400_000;
const ALL = { siteIds: null, groupIds: null };

describe('PostureRepository', () => {
  let database: ProvisioningTestDatabase;
  let posture: PostureRepository;
  let reports: ReportsRepository;
  let partnerId: string;
  let orgId: string;
  let siteId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    posture = new PostureRepository(database.tenants);
    reports = new ReportsRepository(database.tenants);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
    siteId = await database.createSite(partnerId, orgId);
  });

  const create = (values: Record<string, unknown> = {}) =>
    database.createDevice(partnerId, orgId, { site_id: siteId, ...values });
  /** Stores a scan as the agent of a device; `found` maps categories to names or to `name: status`. */
  const report = (deviceId: string, daysAgo: number, found: Record<string, string[]> = {}, of = orgId) => {
    const caller = { ...organizationCaller(partnerId, of), deviceId, orgId: of, partnerId } as unknown as AgentCaller;
    const products = (names: string[]) =>
      names.map((each) => ({ name: each.split(':')[0], status: each.split(':')[1] ?? 'active' }));
    const categories = Object.fromEntries(
      Object.entries(found).map(([category, names]) => [category, products(names)]),
    );
    const body = readPosture({ collectedAt: new Date(Date.now() - daysAgo * DAY_MS).toISOString(), categories });
    return database.tenants.transaction(caller, (tx) => reports.storePosture(tx, caller, body));
  };
  const summarize = (selection: Partial<SummarySelection> = {}, caller: Caller = partnerCaller(partnerId)) =>
    posture.summarize(caller, { category: 'rmm', stalenessDays: 7, ...ALL, ...selection });
  const counters = async () =>
    (await database.admin.query('SELECT * FROM posture_count WHERE partner_id = $1', [partnerId])).rows;

  it('counts devices that were never scanned, stale ones, and those without and with a detection', async () => {
    await create(); // never scanned
    await report(await create(), 1);
    await report(await create(), 8, { mdm: ['Intune'] });
    await report(await create(), 2, { rmm: ['Datto', 'NinjaOne:installed'], mdm: ['Intune'] });
    await report(await create(), 30, { rmm: ['Datto'] });
    const counts = {
      ...{ totalDevices: 5, neverScanned: 1, stale: 2, scannedNoneDetected: 2 },
      ...{ detectedDevices: 2, freshDetectedDevices: 1 },
    };
    const products = [
      { product: 'Datto', status: 'active', deviceCount: 2, freshDeviceCount: 1 },
      { product: 'NinjaOne', status: 'installed', deviceCount: 1, freshDeviceCount: 1 },
    ];
    expect(await summarize()).toEqual({ totals: counts, isTruncated: false, orgs: [{ orgId, ...counts, products }] });
    const mdm = (await summarize({ category: 'mdm', stalenessDays: 365 })).orgs[0];
    expect(mdm).toMatchObject({ stale: 0, detectedDevices: 2, scannedNoneDetected: 2, freshDetectedDevices: 2 });
    expect(await summarize({ siteIds: [siteId] })).toEqual(await summarize());
  });

  it.each([-1, 1])('counts a scan %i minutes around the limit by its time, on its day too', async (minutes) => {
    await report(await create(), 7 + minutes / 1_440, { rmm: ['Datto'] });
    const isStale = minutes > 0;
    for (const siteIds of [null, [siteId]]) {
      const { totals, orgs } = await summarize({ siteIds });
      expect([totals.stale, totals.freshDetectedDevices]).toEqual(isStale ? [1, 0] : [0, 1]);
      expect(orgs[0]?.products[0]?.freshDeviceCount).toBe(isStale ? 0 : 1);
    }
  });

  it('counts the latest scan of a device alone, and no decommissioned one', async () => {
    const [replaced, ended, erased] = [await create(), await create(), await create()];
    for (const id of [replaced, ended, erased]) await report(id, 9, { rmm: ['Old'] });
    await report(replaced, 0, { rmm: ['New:unknown'] });
    await database.admin.query('UPDATE device SET decommissioned_at = now() WHERE id = $1', [ended]);
    await database.admin.query('DELETE FROM device WHERE id = $1', [erased]);
    const { totals, orgs } = await summarize();
    expect(totals).toMatchObject({ totalDevices: 1, neverScanned: 0, stale: 0, detectedDevices: 1 });
    const product = { product: 'New', status: 'unknown', deviceCount: 1, freshDeviceCount: 1 };
    expect(orgs.map(({ products }) => products)).toEqual([[product]]);
    expect((await counters()).every(({ devices }) => devices > 0)).toBe(true);
    await expect(report(ended, 0)).rejects.toMatchObject({ status: 401 });
  });

  it('stays right under concurrent reports and decommissionings', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => create()));
    const found: Record<string, string[]>[] = [
      {},
      { rmm: ['A'] },
      { rmm: ['A', 'B:installed'], mdm: ['M'] },
      { backup: ['C'] },
    ];
    const changes = ids.flatMap((id, n) => [
      report(id, n % 10, found[n % 4]),
      report(id, n % 3, found[(n + 1) % 4]),
      ...(n % 5 === 0
        ? [database.admin.query('UPDATE device SET decommissioned_at = now() WHERE id = $1', [id])]
        : [report(id, n % 12, found[(n + 2) % 4])]),
    ]);
    const ended = (await Promise.allSettled(changes)).filter(({ status }) => status === 'rejected');
    expect(ended.length).toBeLessThanOrEqual(8); // reports of decommissioned devices
    for (const category of ['rmm', 'mdm', 'backup'] as const) {
      for (const stalenessDays of [1, 5]) {
        const counted = await summarize({ category, stalenessDays });
        expect(counted).toEqual(await summarize({ category, stalenessDays, siteIds: [siteId] }));
        expect(counted.totals.totalDevices).toBe(16);
      }
    }
    await database.admin.query('DELETE FROM device WHERE org_id = $1', [orgId]);
    expect(await counters()).toEqual([]);
  });

  it('shows each caller the devices that it may see', async () => {
    const other = await database.createOrganization(partnerId);
    const foreign = randomUUID();
    await database.createDevice(foreign, await database.createOrganization(foreign));
    await report(await database.createDevice(partnerId, other), 1, { rmm: ['Datto'] }, other);
    const [here, elsewhere] = [await create(), await create({ site_id: null })];
    await report(here, 1, { rmm: ['Datto'] });
    await report(elsewhere, 1, { rmm: ['Datto'] });
    const group = await database.admin.query(
      `INSERT INTO device_group (partner_id, org_id, name, name_key) VALUES ($1, $2, 'G', 'g') RETURNING id`,
      [partnerId, orgId],
    );
    const groupIds = [group.rows[0].id as string];
    await database.admin.query(
      'INSERT INTO device_group_member (group_id, device_id, partner_id, org_id) VALUES ($1, $2, $3, $4)',
      [groupIds[0], here, partnerId, orgId],
    );
    const total = async (...given: Parameters<typeof summarize>) => {
      const { totals, orgs } = await summarize(...given);
      const listed = await posture.listDevices(
        given[1] ?? partnerCaller(partnerId),
        { category: 'rmm', product: 'Datto', ...ALL, ...given[0] },
        { page: 1, limit: 50 },
      );
      if (given[1]?.tenant.scope !== 'system') expect(listed.rows).toHaveLength(totals.detectedDevices);
      return [totals.totalDevices, orgs.length];
    };
    const own = organizationCaller(partnerId, orgId);
    const selected = partnerCaller(partnerId);
    const one = { ...selected, tenant: { ...selected.tenant, orgAccess: 'selected', orgIds: [other] } } as Caller;
    expect(await total()).toEqual([3, 2]);
    expect(await total({ orgId })).toEqual([2, 1]);
    expect(await total({}, own)).toEqual([2, 1]);
    expect(await total({}, one)).toEqual([1, 1]);
    expect(await total({ siteIds: [siteId] }, own)).toEqual([1, 1]);
    expect(await total({ siteIds: [siteId], groupIds }, own)).toEqual([1, 1]);
    expect(await total({ siteIds: null, groupIds: [randomUUID()] }, own)).toEqual([0, 0]);
    expect(await total({ siteIds: [] }, own)).toEqual([0, 0]);
    expect(await total({}, partnerCaller(randomUUID()))).toEqual([0, 0]);
    const platform = { tenant: { ...selected.tenant, scope: 'system', partnerId: null } } as unknown as Caller;
    expect((await total({}, platform))[0]).toBeGreaterThanOrEqual(4);
    expect(await total({ orgId }, platform)).toEqual([2, 1]);
    await database.admin.query('UPDATE organization SET deleted_at = now() WHERE id = $1', [other]);
    expect(await total()).toEqual([2, 1]);
  });

  it('lists the devices with a product, newest first, page by page', async () => {
    const ids: string[] = [];
    const older = `UPDATE device_posture_product SET device_created_at = device_created_at - interval '1 s' WHERE partner_id = $1`;
    for (let n = 0; n < 3; n += 1) {
      const id = await create({ hostname: `pc-${n}`, display_name: n === 0 ? 'Till' : null });
      await report(id, n, { rmm: [`Datto:${n === 1 ? 'installed' : 'active'}`], mdm: ['Datto'] });
      await database.admin.query(older, [partnerId]);
      ids.unshift(id);
    }
    const list = (more: object = {}, page = { page: 1, limit: 50 }) =>
      posture.listDevices(partnerCaller(partnerId), { category: 'rmm', product: 'Datto', ...ALL, ...more }, page);
    const { rows, total } = await list();
    expect([rows.map(({ deviceId }) => deviceId), total]).toEqual([ids, 3]);
    expect(rows[2]).toMatchObject({ orgId, siteId, hostname: 'pc-0', displayName: 'Till', deviceStatus: 'online' });
    expect(rows[2]).toMatchObject({ osType: 'linux', status: 'active', version: null, lastSeenAt: null });
    expect(rows[2]?.collectedAt.getTime()).toBeLessThanOrEqual(Date.now());
    expect((await list({ status: 'installed' })).rows.map(({ deviceId }) => deviceId)).toEqual([ids[1]]);
    expect((await list({}, { page: 2, limit: 2 })).rows.map(({ deviceId }) => deviceId)).toEqual([ids[2]]);
    expect((await list({ product: 'datto' })).rows).toEqual([]);
    await database.admin.query('UPDATE device SET decommissioned_at = now() WHERE id = $1', [ids[0]]);
    expect(await list()).toMatchObject({ total: 2 });
  });

  it('states the products of most devices, and that others are left out', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `Tool ${String(n).padStart(2, '0')}`);
    for (let n = 0; n < 3; n += 1) await report(await create(), 1, { rmm: names.map((name) => `${name}-${n % 3}`) });
    await report(await create(), 1, { rmm: ['Tool 49-2'] });
    const { orgs, isTruncated } = await summarize();
    expect([orgs[0]?.products.length, orgs[0]?.products[0]?.product, isTruncated]).toEqual([100, 'Tool 49-2', true]);
  });
});
