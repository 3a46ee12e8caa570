import { randomUUID } from 'node:crypto';
import type { ExportRequest } from '@rmm/contracts';
import type { HasTenant, SqlParams } from '@rmm/persistence';
import { explain, nodesOf, type PlanNode } from '@rmm/persistence/testing';
import { exportRequest } from '../../test/export-pagination.js';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { DEVICES, ExportRepository, SITES } from './export.repository.js';
import { FieldValuePagesRepository } from './field-value-pages.repository.js';
import * as records from './record-pages.repository.js';
import { RecordPagesRepository, type RecordResource } from './record-pages.repository.js';

const PARTNERS = 12;
const DEVICES_EACH = 4_000;
/** Rows that a page of 100 may read of a table, whatever its position. */
const MAX_ROWS = 2_500;
/** Rows of 1,000 organizations, if the planner sorts them for each of the three records that fill a page with them. */
const MAX_ROWS_OF_ORGANIZATIONS = 5_000;

/** Age of the time that an incremental export starts from. */
const SINCE_MS = 600_000;

const LARGE = ['export_record', 'device', 'device_hardware'];

const RESOURCES = Object.values(records).filter(
  (value): value is RecordResource => typeof value === 'object' && 'isOfDevice' in value,
);

/** The plans of the pages of exports, over the data of many partners. */
describe('a page of an export', () => {
  let database: ProvisioningTestDatabase;
  let plans: PlanNode[];
  let statements: number;
  let partnerId: string;
  let orgId: string;
  let siteId: string;
  let middle: { id: string; updatedAt: string };

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    const { admin } = database;
    for (let n = 0; n < PARTNERS; n += 1) {
      partnerId = randomUUID();
      orgId = await database.createOrganization(partnerId);
      const other = await database.createOrganization(partnerId);
      siteId = await database.createSite(partnerId, orgId);
      const client = await admin.connect();
      try {
        // Without triggers: counting and stamping takes most of a minute.
        await client.query('SET session_replication_role = replica');
        await client.query(
          `INSERT INTO device (partner_id, org_id, site_id, hostname, os_type, custom_fields, created_at, updated_at)
           SELECT $1, CASE WHEN n % 2 = 0 THEN $2::uuid ELSE $3::uuid END, CASE WHEN n % 4 = 0 THEN $4::uuid END, 'pc-' || n,
                  'linux', '{"rack": "1"}', now() - n * interval '1 minute', now() - n * interval '1 second'
             FROM generate_series(1, ${DEVICES_EACH}) n`,
          [partnerId, orgId, other, siteId],
        );
        await client.query(
          `INSERT INTO export_record (resource, id, partner_id, org_id, site_id, device_id, source_updated_at, reported,
                  record, created_at, updated_at)
           SELECT resource, id, partner_id, org_id, site_id, CASE WHEN resource ~ '^device' THEN id END, updated_at, true,
                  '{}', created_at, updated_at
             FROM device, unnest($2::text[]) AS resource WHERE partner_id = $1 AND resource <> 'scripts'`,
          [partnerId, RESOURCES.map(({ name }) => name)],
        );
        await client.query(
          `INSERT INTO export_record (resource, id, partner_id, source_updated_at, record, created_at, updated_at)
           SELECT resource, gen_random_uuid(), $1, now(), '{}', now(), now() - n * interval '1 hour'
             FROM generate_series(1, 200) n, unnest($2::text[]) AS resource WHERE resource !~ '^device'`,
          [partnerId, RESOURCES.map(({ name }) => name)],
        );
        await client.query(
          `INSERT INTO custom_field_definition (partner_id, org_id, field_key, name, name_key, type, created_at, updated_at)
           VALUES ($1, NULL, 'rack', 'R', 'r', 'text', now(), now() - interval '1 day')`,
          [partnerId],
        );
        await client.query('SET session_replication_role = DEFAULT');
      } finally {
        client.release();
      }
    }
    await admin.query(`
      SET session_replication_role = replica;
      INSERT INTO organization (partner_id, name, name_key, slug, created_at, updated_at, visible_at)
      SELECT '${partnerId}', 'O', 'o', 'o-' || n, now() - interval '1 day', now(), now() - n * interval '1 minute'
        FROM generate_series(1, 1000) n;
      INSERT INTO script (id, partner_id, org_id, name, name_key, os_types, language, content, run_as, timeout_seconds,
             version, definition_sha256, created_at, updated_at)
      SELECT gen_random_uuid(), partner_id, id, 'S', n::text, '{linux}', 'bash', 'df', 'system', 300, 1, repeat('0', 64),
             now(), now() FROM organization, generate_series(1, 5) n WHERE name <> 'O';
      INSERT INTO device_hardware (device_id, partner_id, org_id, hardware, created_at, updated_at)
      SELECT id, partner_id, org_id, '{}', now(), now() FROM device;
      SET session_replication_role = DEFAULT`);
    await admin.query('VACUUM ANALYZE');
    const { rows } = await admin.query<{ id: string }>(
      `SELECT id FROM device WHERE partner_id = $1 ORDER BY id OFFSET ${DEVICES_EACH / 2} LIMIT 1`,
      [partnerId],
    );
    // A position is never before the time that the export starts from.
    middle = { id: rows[0].id, updatedAt: new Date(Date.now() - SINCE_MS / 2).toISOString() };
  }, 180_000);
  afterAll(() => database?.stop());
  beforeEach(() => {
    plans = [];
    statements = 0;
  });

  /** Explains each statement as the caller and runs it for its plan. */
  const explaining = () =>
    Object.create(database.tenants, {
      read: {
        value: async (caller: HasTenant, sql: string, params: SqlParams) => {
          statements += 1;
          return database.tenants.transaction(caller, async (tx) => {
            plans.push(await explain(tx, sql, params));
            return [];
          });
        },
      },
    }) as typeof database.tenants;

  const rowsOf = (node: PlanNode) =>
    (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];

  /** Requests of the first and of a later page, in full and since a time, of everything and filtered. */
  function* requests(filters: Partial<ExportRequest>[]): Generator<ExportRequest> {
    const since = new Date(Date.now() - SINCE_MS).toISOString();
    for (const filter of filters) {
      for (const updatedSince of [null, since]) {
        for (const after of [null, { ...middle, orgId }])
          yield exportRequest(partnerId, { ...filter, updatedSince, after });
      }
    }
  }

  function expectIndexes(maxRows = MAX_ROWS): void {
    for (const plan of plans) {
      const scans = nodesOf(plan).filter((node) => node['Relation Name'] !== undefined);
      for (const scan of scans) {
        const description = JSON.stringify({ ...scan, Plans: undefined });
        if (LARGE.includes(String(scan['Relation Name']))) expect(description).not.toContain('Seq Scan');
        expect(rowsOf(scan) <= maxRows ? '' : description).toBe('');
      }
    }
  }

  const future = () => new Date(Date.now() + 60_000).toISOString();

  it.each([
    ['devices', DEVICES],
    ['sites', SITES],
  ] as const)('of %s reads rows in the order of an index from its position on', async (_, resource) => {
    const repository = new ExportRepository(explaining());
    const filters = resource === DEVICES ? [{}, { orgId }, { siteId }] : [{}, { orgId }];
    for (const request of requests(filters)) await repository.list(resource, request, future());
    expect(statements).toBe(filters.length * 4);
    expectIndexes();
  });

  it.each(RESOURCES.map((resource) => [resource.name, resource] as const))(
    'of %s reads rows in the order of an index from its position on',
    async (_, resource) => {
      const repository = new RecordPagesRepository(explaining());
      const filters = resource.isOfDevice ? [{}, { orgId }, { siteId }] : [{}, { orgId }];
      for (const request of requests(filters)) await repository.list(resource, request, future());
      expect(statements).toBe(filters.length * 4);
      expectIndexes();
    },
  );

  it.each([
    ['at once', `interval '1 second'`],
    ['one after the other', `n * interval '1 second'`],
  ])('of definitions of the partner reads few rows when 1,000 organizations became visible %s', async (_, age) => {
    await database.admin.query(
      `SET session_replication_role = replica;
       WITH numbered AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM organization WHERE partner_id = '${partnerId}')
       UPDATE organization o SET visible_at = now() - ${age} FROM numbered WHERE numbered.id = o.id;
       SET session_replication_role = DEFAULT; ANALYZE organization`,
    );
    const { rows } = await database.admin.query<{ id: string; visibleAt: Date }>(
      `SELECT id, visible_at AS "visibleAt" FROM organization WHERE partner_id = $1 ORDER BY visible_at OFFSET 500 LIMIT 1`,
      [partnerId],
    );
    const [{ id, visibleAt }] = rows;
    const repository = new RecordPagesRepository(explaining());
    const updatedSince = new Date(Date.now() - 3_600_000).toISOString();
    const after = { id: middle.id, orgId: id, updatedAt: visibleAt.toISOString() };
    for (const position of [null, after]) {
      const request = exportRequest(partnerId, { updatedSince, after: position });
      await repository.list(records.CONFIGURATION_POLICIES, request, future());
    }
    expect(statements).toBe(2);
    expectIndexes(MAX_ROWS_OF_ORGANIZATIONS);
  });

  it('of the values of custom fields reads rows in the order of an index from its position on', async () => {
    const repository = new FieldValuePagesRepository(explaining());
    for (const request of requests([{}, { orgId }])) {
      const after = request.after && { ...request.after, id: `${request.after.id}:${randomUUID()}` };
      await repository.list({ ...request, after }, future());
    }
    expect(statements).toBe(8);
    expectIndexes();
  });
});
