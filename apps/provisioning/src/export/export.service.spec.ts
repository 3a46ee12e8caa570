import pg from 'pg';
import {
  PROVISIONING_EXPORT_ORGANIZATIONS,
  PROVISIONING_EXPORT_SITES,
  PROVISIONING_ORGANIZATIONS_LIST_SINCE,
  type ExportReply,
  type ExportRequest,
  type RpcContract,
} from '@rmm/contracts';
import { eventually } from '@rmm/testing-services';
import { actingPartnerKey } from '../../test/acting-callers.js';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

describe('ExportService', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());

  /** A partner with so many imported organizations, a site each. */
  const partnerWith = async (count: number) => {
    const partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    const rows = Array.from({ length: count }, (_, index) => ({ organization: `Customer ${index}`, site: 'Main' }));
    await client.post('/orgs/import', { rows });
    return { partnerId, client };
  };

  async function exportAll<T>(
    contract: RpcContract<ExportRequest, ExportReply<T>>,
    partnerId: string,
    given: Partial<ExportRequest> = {},
  ) {
    const request: ExportRequest = {
      caller: actingPartnerKey(partnerId),
      orgId: null,
      snapshotAt: null,
      updatedSince: null,
      after: null,
      limit: 4,
      ...given,
    };
    const records: ExportReply<T>['records'] = [];
    for (;;) {
      const page = await testApp.call(contract, request);
      records.push(...page.records);
      request.snapshotAt = page.snapshotAt;
      const last = page.records.at(-1);
      if (!page.hasMore || !last) return { records, snapshotAt: page.snapshotAt };
      request.after = { id: last.id, orgId: last.orgId, updatedAt: last.sourceUpdatedAt };
    }
  }

  it('exports all organizations and sites in order of id, each once', async () => {
    const { partnerId } = await partnerWith(10);
    await partnerWith(2);
    const organizations = await exportAll(PROVISIONING_EXPORT_ORGANIZATIONS, partnerId);
    expect(organizations.records).toHaveLength(10);
    const ids = organizations.records.map((record) => record.id);
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(10);
    expect(organizations.records[0]).toEqual({
      id: ids[0],
      orgId: ids[0],
      siteId: null,
      sourceUpdatedAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      name: expect.stringMatching(/^Customer/),
      slug: expect.stringMatching(/^customer-/),
      type: 'customer',
      status: 'active',
    });
    const sites = await exportAll(PROVISIONING_EXPORT_SITES, partnerId);
    expect(sites.records).toHaveLength(10);
    for (const site of sites.records) {
      expect(site).toMatchObject({ siteId: site.id, name: 'Main', timezone: 'UTC', address: null, contact: null });
      expect(ids).toContain(site.orgId);
    }
    const one = await exportAll(PROVISIONING_EXPORT_SITES, partnerId, { orgId: ids[3] });
    expect(one.records.map((site) => site.orgId)).toEqual([ids[3]]);
  });

  it('exports the changes since a snapshot in order of change', async () => {
    const { partnerId, client } = await partnerWith(6);
    const full = await exportAll(PROVISIONING_EXPORT_ORGANIZATIONS, partnerId);
    expect(
      (await exportAll(PROVISIONING_EXPORT_ORGANIZATIONS, partnerId, { updatedSince: full.snapshotAt })).records,
    ).toEqual([]);
    const changed = [full.records[4].id, full.records[1].id];
    for (const id of changed) await client.patch(`/orgs/organizations/${id}`, { name: `Renamed ${id}` });
    const created = (await client.post('/orgs/organizations', { name: 'New' })).body.id as string;
    const since = await exportAll(PROVISIONING_EXPORT_ORGANIZATIONS, partnerId, {
      updatedSince: full.snapshotAt,
      limit: 2,
    });
    expect(since.records.map((record) => record.id)).toEqual([...changed, created]);
  });

  it('omits records created after the snapshot and organizations that are deleted or inactive', async () => {
    const { partnerId, client } = await partnerWith(4);
    const { records, snapshotAt } = await exportAll(PROVISIONING_EXPORT_ORGANIZATIONS, partnerId);
    await client.post('/orgs/organizations', { name: 'Too late' });
    await client.patch(`/orgs/organizations/${records[0].id}`, { status: 'suspended' });
    await testApp.admin.query('update organization set deleted_at = now() where id = $1', [records[1].id]);
    const again = await exportAll(PROVISIONING_EXPORT_ORGANIZATIONS, partnerId, { snapshotAt });
    expect(again.records.map((record) => record.id)).toEqual([records[2].id, records[3].id]);
    const sites = await exportAll(PROVISIONING_EXPORT_SITES, partnerId, { snapshotAt });
    expect(new Set(sites.records.map((site) => site.orgId))).toEqual(new Set([records[2].id, records[3].id]));
  });

  it('includes a change stamped before the snapshot and committed after it', async () => {
    const { partnerId } = await partnerWith(1);
    const writer = new pg.Client({ connectionString: testApp.adminUrl, options: '-c search_path=provisioning' });
    await writer.connect();
    try {
      await writer.query('begin');
      await writer.query(
        `insert into organization (partner_id, name, name_key, slug) values ($1, 'In flight', 'in flight', 'in-flight')`,
        [partnerId],
      );
      const exporting = exportAll(PROVISIONING_EXPORT_ORGANIZATIONS, partnerId);
      let done = false;
      void exporting.then(() => (done = true));
      for (let asked = 0; asked < 10; asked += 1) {
        await testApp.call(PROVISIONING_ORGANIZATIONS_LIST_SINCE, { after: null, limit: 1 });
      }
      expect(done).toBe(false);
      await writer.query('commit');
      const { records, snapshotAt } = await exporting;
      const since = await exportAll(PROVISIONING_EXPORT_ORGANIZATIONS, partnerId, { updatedSince: snapshotAt });
      const seen = [...records, ...since.records].map((record) => record.name);
      expect(seen.filter((name) => name === 'In flight')).toHaveLength(1);
    } finally {
      await writer.end();
    }
  });

  it('exports the sites of an organization that is visible again as changes', async () => {
    const { partnerId, client } = await partnerWith(2);
    const [{ orgId, id }] = (await exportAll(PROVISIONING_EXPORT_SITES, partnerId)).records;
    await client.patch(`/orgs/organizations/${orgId}`, { status: 'suspended' });
    const { records, snapshotAt } = await exportAll(PROVISIONING_EXPORT_SITES, partnerId);
    expect(records.map((record) => record.orgId)).not.toContain(orgId);
    await client.patch(`/orgs/organizations/${orgId}`, { status: 'trial' });
    await eventually(async () => {
      const changes = await exportAll(PROVISIONING_EXPORT_SITES, partnerId, { updatedSince: snapshotAt });
      expect(changes.records.map((record) => record.id)).toEqual([id]);
    });
  });

  it('returns nothing of another partner, whatever the request names', async () => {
    const { partnerId } = await partnerWith(2);
    const { partnerId: foreign } = await partnerWith(1);
    const own = await exportAll(PROVISIONING_EXPORT_ORGANIZATIONS, partnerId);
    const orgId = own.records[0].id;
    expect((await exportAll(PROVISIONING_EXPORT_SITES, foreign, { orgId })).records).toEqual([]);
    const narrowed = actingPartnerKey(partnerId);
    narrowed.tenant = { ...narrowed.tenant, orgAccess: 'selected', orgIds: [orgId] };
    const seen = await exportAll(PROVISIONING_EXPORT_ORGANIZATIONS, partnerId, { caller: narrowed });
    expect(seen.records.map(({ id }) => id)).toEqual([orgId]);
    const unscoped = { ...actingPartnerKey(partnerId), tenant: { ...narrowed.tenant, scope: 'system' as const } };
    await expect(exportAll(PROVISIONING_EXPORT_SITES, partnerId, { caller: unscoped })).rejects.toThrow(
      'validation_failed',
    );
    await expect(exportAll(PROVISIONING_EXPORT_SITES, partnerId, { limit: 501 })).rejects.toThrow('validation_failed');
  });
});
