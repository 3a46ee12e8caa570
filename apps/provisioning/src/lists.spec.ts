import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { TenantDatabase } from '@rmm/persistence';
import { StatementPlans } from '@rmm/persistence/testing';
import type { FakeUser } from '@rmm/testing/fake-identity';
import { ignoredParameters, listOperations, listProblems, type ListOperation } from '@rmm/testing/openapi';
import { ProvisioningTestApp } from '../test/provisioning-test-app.js';

jest.setTimeout(120_000);

const [PARTNER, ORGANIZATION, SITE, GROUP] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];

/** Organizations of 100 partners, each with sites and devices; those of one partner have known ids. */
const SEED = `
  SET session_replication_role = replica;
  INSERT INTO organization (id, partner_id, name, name_key, slug, created_at, updated_at)
  SELECT CASE n WHEN 1 THEN '${ORGANIZATION}' ELSE gen_random_uuid() END, p.id, 'Org ' || n, 'org ' || n, 'org-' || n,
    now() - n * interval '1 minute', now()
  FROM (SELECT '${PARTNER}'::uuid UNION ALL SELECT gen_random_uuid() FROM generate_series(1, 99)) p(id),
    generate_series(1, 20) n WHERE n > 1 OR p.id = '${PARTNER}';
  INSERT INTO site (id, partner_id, org_id, name, name_key, created_at, updated_at)
  SELECT CASE WHEN n = 1 AND o.id = '${ORGANIZATION}' THEN '${SITE}' ELSE gen_random_uuid() END, partner_id, o.id,
    'Site ' || n, 'site ' || n, now() - random() * interval '90 days', now()
  FROM organization o, generate_series(1, 4) n;
  INSERT INTO device (partner_id, org_id, site_id, hostname, os_type, created_at, updated_at)
  SELECT partner_id, org_id, id, 'pc-' || n, 'linux', now() - random() * interval '90 days', now()
  FROM site, generate_series(1, 5) n;
  INSERT INTO device_state (device_id, partner_id, org_id, status, offline_check_at)
  SELECT id, partner_id, org_id, CASE WHEN random() < 0.5 THEN 'online' ELSE 'offline' END, now() + interval '1 hour'
  FROM device;
  INSERT INTO organization_count (org_id, partner_id, devices) SELECT id, partner_id, 20 FROM organization
    ON CONFLICT DO NOTHING;
  INSERT INTO site_count (site_id, partner_id, org_id, devices) SELECT id, partner_id, org_id, 5 FROM site
    ON CONFLICT DO NOTHING;
  INSERT INTO device_group (partner_id, org_id, site_id, name, name_key, created_at, updated_at)
  SELECT partner_id, org_id, id, 'Group ' || n, 'group ' || n || id, now() - random() * interval '90 days', now()
  FROM site, generate_series(1, 2) n;
  INSERT INTO device_group_member (group_id, device_id, partner_id, org_id)
  SELECT CASE WHEN org_id = '${ORGANIZATION}' THEN '${GROUP}' ELSE gen_random_uuid() END, id, partner_id, org_id
  FROM device;
  SET session_replication_role = DEFAULT;
  ANALYZE`;

const CALLERS: Record<string, FakeUser> = {
  system: { scope: 'system' },
  'partner, all organizations': { partnerId: PARTNER },
  'partner, one selected organization': { partnerId: PARTNER, orgAccess: 'selected', orgIds: [ORGANIZATION] },
  'partner, 1,000 selected organizations': {
    partnerId: PARTNER,
    orgAccess: 'selected',
    orgIds: [ORGANIZATION, ...Array.from({ length: 999 }, () => randomUUID())],
  },
  organization: { scope: 'organization', partnerId: PARTNER, orgId: ORGANIZATION },
  'organization, one site': { scope: 'organization', partnerId: PARTNER, orgId: ORGANIZATION, siteIds: [SITE] },
};

describe('lists of provisioning', () => {
  let service: ProvisioningTestApp;
  let plans: StatementPlans;
  let operations: ListOperation[];

  beforeAll(async () => {
    service = await ProvisioningTestApp.start({ GLOBAL_RATE_LIMIT_PER_MINUTE: '100000' });
    await service.admin.query(SEED);
    const { body } = await supertest(service.url.replace('/api/v1', '')).get('/openapi.json');
    operations = listOperations(body as never, {
      orgId: ORGANIZATION,
      siteId: SITE,
      siteIds: SITE,
      partnerId: PARTNER,
    });
    const tenants = service.app.get(TenantDatabase, { strict: false });
    plans = await StatementPlans.record(tenants, { url: String(service.env['DATABASE_URL']), schema: 'provisioning' });
  });

  afterAll(async () => {
    await plans?.stop();
    await service.stop();
  });

  it('has lists in its OpenAPI document', () => {
    expect(operations.map(({ path }) => path).sort()).toEqual([
      '/devices',
      '/orgs/device-groups',
      '/orgs/organizations',
      '/orgs/sites',
    ]);
  });

  it.each(Object.keys(CALLERS))('reads each list through an index: %s', async (name) => {
    const client = await service.clientFor(CALLERS[name]);
    const isSystem = CALLERS[name].scope === 'system';
    expect(await listProblems(operations, plans, client.get, { isSystem })).toEqual([]);
  });

  it('refuses filters, orders and cursors that a list does not serve', async () => {
    const client = await service.clientFor(CALLERS['partner, all organizations']);
    expect(await ignoredParameters(operations, client.get)).toEqual([]);
    await client.get(`${operations[0].path}?color=x`).expect(200);
  });
});
