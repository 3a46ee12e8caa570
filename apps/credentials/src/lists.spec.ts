import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { TenantDatabase } from '@rmm/persistence';
import { StatementPlans } from '@rmm/persistence/testing';
import type { FakeUser } from '@rmm/testing/fake-identity';
import { ignoredParameters, listOperations, listProblems, type ListOperation } from '@rmm/testing/openapi';
import { CredentialsTestApp } from '../test/credentials-test-app.js';

jest.setTimeout(120_000);

const SITE = randomUUID();

/** Keys and principals of 100 partners with 20 organizations each; one organization is known. */
const seedOf = (partnerId: string, orgId: string) => `
  SET session_replication_role = replica;
  INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
  SELECT gen_random_uuid(), p.id, 'Org ' || n, 'org-' || n, 'active', 1
  FROM (SELECT '${partnerId}'::uuid UNION ALL SELECT gen_random_uuid() FROM generate_series(1, 199)) p(id),
    generate_series(1, 20) n;
  CREATE TEMP TABLE owner AS SELECT partner_id, org_id, now() - random() * interval '90 days' AS at
    FROM organization_directory, generate_series(1, 10) n;
  INSERT INTO api_key (partner_id, org_id, name, key_prefix, key_hash, scopes, rate_limit, created_at)
  SELECT partner_id, org_id, 'key', 'rmm_', sha256(gen_random_uuid()::text::bytea), '{}', 1000, at FROM owner;
  INSERT INTO enrollment_key (partner_id, org_id, site_id, name, key_hash, expires_at, created_at)
  SELECT partner_id, org_id, CASE WHEN org_id = '${orgId}' THEN '${SITE}' ELSE gen_random_uuid() END, 'key',
    sha256(gen_random_uuid()::text::bytea), now() + interval '1 day', at FROM owner;
  INSERT INTO service_principal (partner_id, org_id, name, scopes, created_at)
  SELECT partner_id, org_id, 'principal', '{}', at FROM owner;
  INSERT INTO partner_principal (partner_id, name, scopes, created_at)
  SELECT partner_id, 'principal ' || gen_random_uuid(), '{}', at FROM owner;
  SET session_replication_role = DEFAULT;
  ANALYZE`;

describe('lists of credentials', () => {
  let service: CredentialsTestApp;
  let plans: StatementPlans;
  let operations: ListOperation[];
  let callers: Record<string, FakeUser>;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    const { partnerId, orgId } = await service.createTenant();
    await service.admin.query(seedOf(partnerId, orgId));
    callers = {
      system: { scope: 'system' },
      'partner, all organizations': { partnerId },
      'partner, one selected organization': { partnerId, orgAccess: 'selected', orgIds: [orgId] },
      'partner, 1,000 selected organizations': {
        partnerId,
        orgAccess: 'selected',
        orgIds: [orgId, ...Array.from({ length: 999 }, () => randomUUID())],
      },
      organization: { scope: 'organization', partnerId, orgId },
      'organization, one site': { scope: 'organization', partnerId, orgId, siteIds: [SITE] },
    };
    const { body } = await supertest(service.app.getHttpServer() as never).get('/openapi.json');
    operations = listOperations(body as never, { orgId, siteId: SITE, partnerId });
    const tenants = service.app.get(TenantDatabase, { strict: false });
    plans = await StatementPlans.record(tenants, {
      url: service.database.urls.credentials.service,
      schema: 'credentials',
    });
  });

  afterAll(async () => {
    await plans?.stop();
    await service.stop();
  });

  it('has lists in its OpenAPI document', () => {
    expect(operations.map(({ path }) => path).sort()).toEqual([
      '/api-keys',
      '/enrollment-keys',
      '/partner-service-principals',
      '/service-principals',
    ]);
  });

  it.each([
    'system',
    'partner, all organizations',
    'partner, one selected organization',
    'partner, 1,000 selected organizations',
    'organization',
    'organization, one site',
  ])('reads each list through an index: %s', async (name) => {
    const client = await service.as(callers[name]);
    const isSystem = callers[name].scope === 'system';
    expect(await listProblems(operations, plans, client.get, { isSystem })).toEqual([]);
  });

  it('refuses filters, orders and cursors that a list does not serve', async () => {
    const client = await service.as(callers['partner, all organizations']);
    expect(await ignoredParameters(operations, client.get)).toEqual([]);
    await client.get(`${operations[0].path}?color=x`).expect(200);
  });
});
