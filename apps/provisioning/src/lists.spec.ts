import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { TenantDatabase } from '@rmm/persistence';
import { StatementPlans } from '@rmm/persistence/testing';
import type { FakeUser } from '@rmm/testing/fake-identity';
import { ignoredParameters, listOperations, listProblems, type ListOperation } from '@rmm/testing/openapi';
import { ProvisioningTestApp } from '../test/provisioning-test-app.js';

jest.setTimeout(120_000);

const [PARTNER, ORGANIZATION, SITE, GROUP, CONNECTION, RUN, SCRIPT] = Array.from({ length: 7 }, () => randomUUID());

/** Organizations of 100 partners, each with sites and devices; those of one partner have known ids. */
const SEED = `
  SET session_replication_role = replica;
  INSERT INTO organization (id, partner_id, name, name_key, slug, created_at, updated_at)
  SELECT CASE n WHEN 1 THEN '${ORGANIZATION}' ELSE gen_random_uuid() END, p.id, 'Org ' || n, 'org ' || n, 'org-' || n,
    now() - n * interval '1 minute', now()
  FROM (SELECT '${PARTNER}'::uuid UNION ALL SELECT gen_random_uuid() FROM generate_series(1, 199)) p(id),
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
  INSERT INTO device_posture (device_id, partner_id, org_id, collected_at, created_at, updated_at)
  SELECT id, partner_id, org_id, now(), now(), now() FROM device WHERE hostname = 'pc-1';
  INSERT INTO device_posture_product (device_id, partner_id, org_id, device_created_at, category, name, status)
  SELECT id, partner_id, org_id, created_at, 'rmm', 'Tool ' || (500 * n + floor(random() * 500))::int,
    'active'
  FROM device, generate_series(0, 1) n WHERE hostname = 'pc-1';
  INSERT INTO organization_count (org_id, partner_id, devices) SELECT id, partner_id, 20 FROM organization
    ON CONFLICT DO NOTHING;
  INSERT INTO site_count (site_id, partner_id, org_id, devices) SELECT id, partner_id, org_id, 5 FROM site
    ON CONFLICT DO NOTHING;
  INSERT INTO device_group (partner_id, org_id, site_id, name, name_key, created_at, updated_at)
  SELECT partner_id, org_id, id, 'Group ' || n, 'group ' || n || id, now() - random() * interval '90 days', now()
  FROM site, generate_series(1, 2) n;
  INSERT INTO psa_connection (id, partner_id, org_id, provider, name, name_key, created_at)
  SELECT gen_random_uuid(), partner_id, CASE WHEN random() < 0.9 THEN id END, 'zendesk', 'PSA ' || n, 'psa ' || n || id,
    now() - random() * interval '90 days'
  FROM organization, generate_series(1, 3) n;
  INSERT INTO psa_connection (id, partner_id, provider, name, name_key)
  VALUES ('${CONNECTION}', '${PARTNER}', 'zendesk', 'Own', 'own');
  INSERT INTO psa_proposal (partner_id, connection_id, kind, external_id, name, name_key, company, seen_by, created_at)
  SELECT partner_id, c.id, 'company', n, 'C ' || n, 'c ' || n, '{"organization": "C"}', c.id,
    now() - random() * interval '90 days'
  FROM psa_connection c, generate_series(1, 5) n;
  INSERT INTO device_group_member (group_id, device_id, partner_id, org_id)
  SELECT CASE WHEN org_id = '${ORGANIZATION}' THEN '${GROUP}' ELSE gen_random_uuid() END, id, partner_id, org_id
  FROM device;
  INSERT INTO custom_field_definition (partner_id, org_id, field_key, name, name_key, type, created_at, updated_at)
  SELECT partner_id, CASE WHEN random() < 0.9 THEN id END, n || '-' || id, 'Field ' || n, 'field ' || n, 'text',
    now() - random() * interval '90 days', now()
  FROM organization, generate_series(1, 3) n;
  INSERT INTO contact (partner_id, org_id, site_id, name, name_key, roles, created_at, updated_at)
  SELECT partner_id, org_id, id, 'Contact ' || n, 'contact ' || n, CASE WHEN n % 5 = 0 THEN '{billing}'::text[] ELSE '{}' END,
    now() - random() * interval '90 days', now()
  FROM site, generate_series(1, 5) n;
  INSERT INTO import_run (id, partner_id, kind, source, state, created_at)
  SELECT CASE WHEN n = 1 AND p.id = '${PARTNER}' THEN '${RUN}' ELSE gen_random_uuid() END, p.id, 'organizations', 'file',
    CASE n % 3 WHEN 0 THEN 'parsing' ELSE 'completed' END, now() - n * interval '1 minute'
  FROM (SELECT DISTINCT partner_id FROM organization) p(id), generate_series(1, 50) n;
  INSERT INTO import_run_row (run_id, partner_id, index, line, cells, annotation, org_id)
  SELECT r.id, r.partner_id, n, n, '["a"]', 'new', CASE WHEN r.id = '${RUN}' THEN '${ORGANIZATION}'::uuid END
  FROM import_run r, generate_series(1, 4) n;
  INSERT INTO import_change (run_id, partner_id, org_id, resource, action, record_id)
  SELECT r.id, r.partner_id, o.id, 'organization', 'create', o.id
  FROM (SELECT id, partner_id, row_number() OVER (PARTITION BY partner_id ORDER BY created_at DESC) AS n FROM import_run) r
  JOIN organization o ON o.partner_id = r.partner_id WHERE r.n = 1 OR random() < 0.1;
  INSERT INTO script (id, partner_id, org_id, name, name_key, os_types, language, content, run_as, timeout_seconds, tags,
    version, definition_sha256, created_at, updated_at)
  SELECT gen_random_uuid(), partner_id, CASE WHEN random() < 0.9 THEN id END, 'Script ' || n, 'script ' || n || id,
    '{linux}', 'bash', 'df', 'system', 300, '{a}', 1, repeat('0', 64), now() - random() * interval '90 days', now()
  FROM organization, generate_series(1, 5) n;
  INSERT INTO script (id, partner_id, org_id, name, name_key, os_types, language, content, run_as, timeout_seconds,
    version, definition_sha256, created_at, updated_at)
  VALUES ('${SCRIPT}', '${PARTNER}', '${ORGANIZATION}', 'Own', 'own', '{linux}', 'bash', 'df', 'system', 300, 9,
    repeat('0', 64), now(), now());
  INSERT INTO script_version (id, script_id, partner_id, org_id, name, os_types, language, content, run_as,
    timeout_seconds, version, created_at)
  SELECT gen_random_uuid(), id, partner_id, org_id, name, '{linux}', 'bash', 'df', 'system', 300, n, now()
  FROM script, generate_series(1, 3) n;
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
    service = await ProvisioningTestApp.start();
    await service.admin.query(SEED);
    const { body } = await supertest(service.url.replace('/api/v1', '')).get('/openapi.json');
    const all = listOperations(body as never, {
      'orgs.id': ORGANIZATION,
      'psa.id': CONNECTION,
      'imports.id': RUN,
      'scripts.id': SCRIPT,
      orgId: ORGANIZATION,
      siteId: SITE,
      siteIds: SITE,
      partnerId: PARTNER,
      'product!': 'Tool 1',
    });
    // Built-in scripts are in memory.
    operations = all.filter(({ path }) => path !== '/scripts/system-library');
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
      '/devices/custom-field-definitions',
      '/devices/management-posture/devices',
      '/imports',
      `/imports/${RUN}/changes`,
      `/imports/${RUN}/rows`,
      '/orgs/device-groups',
      '/orgs/organizations',
      `/orgs/organizations/${ORGANIZATION}/contacts`,
      '/orgs/sites',
      '/psa/connections',
      `/psa/connections/${CONNECTION}/proposals`,
      '/scripts',
      `/scripts/${SCRIPT}/versions`,
    ]);
  });

  it.each(Object.keys(CALLERS))('reads each list through an index: %s', async (name) => {
    const token = await service.identity.signIn(CALLERS[name]);
    const client = service.client(token);
    // Members with selected organizations see their own runs only.
    const creator = service.identity.userIdOf(token);
    await service.admin.query('UPDATE import_run SET created_by = $1 WHERE id = $2', [creator, RUN]);
    const isSystem = CALLERS[name].scope === 'system';
    expect(await listProblems(operations, plans, client.get, { isSystem })).toEqual([]);
  });

  it('refuses filters, orders and cursors that a list does not serve', async () => {
    const client = await service.clientFor(CALLERS['partner, all organizations']);
    expect(await ignoredParameters(operations, client.get)).toEqual([]);
    await client.get(`${operations[0].path}?color=x`).expect(200);
  });
});
