import { randomUUID } from 'node:crypto';
import type { ExportedBase } from '@rmm/contracts';
import { exportServiceOn, publishRecord, readAllPages, type ExportList } from '../../test/export-pagination.js';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { seeded } from '../../test/seeded-random.js';
import { stampNext } from '../../test/stamp-next.js';
import type { ExportService } from './export.service.js';
import { RestampRepository } from './restamp.repository.js';

const DEVICES = 1_200;
const ORGANIZATIONS = 10;

/** Exports while the data changes: a consumer that follows them has what the tables have. */
describe('an export', () => {
  let database: ProvisioningTestDatabase;
  let service: ExportService;
  let restamps: RestampRepository;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    service = exportServiceOn(database);
    restamps = new RestampRepository(database.worker);
  });
  afterAll(() => database?.stop());

  /** A partner with devices, definitions and records, and changes of them at random. */
  async function createTenant(random: () => number) {
    const partnerId = randomUUID();
    const { admin } = database;
    const orgIds: string[] = [];
    for (let n = 0; n < ORGANIZATIONS; n += 1) orgIds.push(await database.createOrganization(partnerId));
    const { rows } = await admin.query<{ id: string }>(
      `INSERT INTO device (partner_id, org_id, hostname, os_type, custom_fields)
       SELECT $1, ($2::uuid[])[1 + n % ${ORGANIZATIONS}], 'pc-' || n, 'linux',
              CASE WHEN n % 3 = 0 THEN jsonb_build_object('key-' || n % 5, n::text, 'key-' || n % 7, n::text) ELSE '{}' END
         FROM generate_series(1, ${DEVICES}) n RETURNING id`,
      [partnerId, orgIds],
    );
    const devices = rows.map(({ id }) => id);
    const [scripts, definitions, policies]: string[][] = [[], [], []];
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)];
    const owner = () => (random() < 0.4 ? null : pick(orgIds));
    const set = (table: string, id: string, assignment: string) =>
      admin.query(`UPDATE ${table} SET ${assignment} WHERE id = $1`, [id]);
    const insert = async (sql: string, values: unknown[]) =>
      (await admin.query<{ id: string }>(`${sql} RETURNING id`, values)).rows.map(({ id }) => id);

    const changes = {
      addDevice: async () => {
        devices.push(await database.createDevice(partnerId, pick(orgIds), { custom_fields: { 'key-1': 'new' } }));
      },
      renameDevice: () => set('device', pick(devices), `hostname = 'renamed-' || gen_random_uuid()`),
      changeField: () =>
        set(
          'device',
          pick(devices),
          `custom_fields = custom_fields || '{"key-${Math.floor(random() * 7)}": "changed"}'`,
        ),
      removeField: () =>
        set('device', pick(devices), `custom_fields = custom_fields - 'key-${Math.floor(random() * 7)}'`),
      endDevice: () => set('device', pick(devices), 'decommissioned_at = now()'),
      suspend: () => set('organization', pick(orgIds), `status = 'suspended'`),
      resume: () => set('organization', pick(orgIds), `status = 'active'`),
      addOrganization: async () => {
        orgIds.push(await database.createOrganization(partnerId));
      },
      stamp: async () => {
        await stampNext(restamps, 50);
      },
      addScript: async () => {
        scripts.push(
          ...(await insert(
            `INSERT INTO script (id, partner_id, org_id, name, name_key, os_types, language, content, run_as,
               timeout_seconds, version, definition_sha256)
             VALUES (gen_random_uuid(), $1, $2, 'S', gen_random_uuid()::text, '{linux}', 'bash', 'df', 'system', 300, 1,
               repeat('0', 64))`,
            [partnerId, owner()],
          )),
        );
      },
      changeScript: () => set('script', pick(scripts), `content = gen_random_uuid()::text`),
      removeScript: () => admin.query('DELETE FROM script WHERE id = $1', [pick(scripts)]),
      addDefinition: async () => {
        definitions.push(
          ...(await insert(
            `INSERT INTO custom_field_definition (partner_id, org_id, field_key, name, name_key, type)
             VALUES ($1, $2, $3, 'F', 'f', 'text')
             ON CONFLICT ON CONSTRAINT custom_field_definition_key DO UPDATE SET name = 'G'`,
            [partnerId, owner(), `key-${Math.floor(random() * 7)}`],
          )),
        );
      },
      changeDefinition: () => set('custom_field_definition', pick(definitions), 'name = gen_random_uuid()::text'),
      removeDefinition: () => admin.query('DELETE FROM custom_field_definition WHERE id = $1', [pick(definitions)]),
      publish: async () => {
        policies.push(await publishRecord(database, { partnerId, resource: 'configuration-policies', orgId: owner() }));
      },
      publishAgain: async () => {
        const record = { name: randomUUID() };
        await publishRecord(database, { partnerId, resource: 'configuration-policies', id: pick(policies), record });
      },
      unpublish: async () => {
        const id = pick(policies);
        await publishRecord(database, { partnerId, resource: 'configuration-policies', id, record: null });
      },
    };
    const all = Object.values(changes);
    for (let n = 0; n < 40; n += 1) {
      await changes.addScript();
      await changes.publish();
    }
    for (let n = 0; n < 10; n += 1) await changes.addDefinition();
    return {
      partnerId,
      change: async () => {
        for (let n = 0; n < 6; n += 1) await pick(all)();
      },
    };
  }

  /** The pairs that exist, by statements of their own. */
  const TRUTH = {
    devices: `SELECT d.id::text AS id, d.org_id AS "orgId" FROM device d JOIN live o ON o.id = d.org_id
               WHERE d.partner_id = $1 AND d.decommissioned_at IS NULL`,
    scripts: `SELECT s.id::text AS id, o.id AS "orgId" FROM script s JOIN live o ON s.org_id = o.id OR s.org_id IS NULL
               WHERE s.partner_id = $1`,
    'configuration-policies': `SELECT r.id::text AS id, o.id AS "orgId" FROM export_record r
               JOIN live o ON r.org_id = o.id OR r.org_id IS NULL
               WHERE r.partner_id = $1 AND r.resource = 'configuration-policies' AND r.deleted_at IS NULL`,
    'custom-field-values': `SELECT d.id || ':' || c.id AS id, d.org_id AS "orgId" FROM device d JOIN live o ON o.id = d.org_id
               JOIN custom_field_definition c ON c.partner_id = $1 AND (c.org_id = d.org_id OR c.org_id IS NULL)
               WHERE d.decommissioned_at IS NULL AND d.custom_fields ? c.field_key AND NOT (c.org_id IS NULL AND EXISTS (
                 SELECT FROM custom_field_definition x WHERE x.org_id = d.org_id AND x.field_key = c.field_key))`,
  };
  const pairOf = ({ id, orgId }: { id: string; orgId: string }) => `${id} ${orgId}`;
  const readTruth = async (resource: keyof typeof TRUTH, partnerId: string) => {
    const { rows } = await database.admin.query<{ id: string; orgId: string }>(
      `WITH live AS (SELECT id FROM organization
                      WHERE partner_id = $1 AND deleted_at IS NULL AND status IN ('active', 'trial'))
       ${TRUTH[resource]}`,
      [partnerId],
    );
    return rows.map(pairOf).sort();
  };
  /** The content of a record, without the stamp that only cursors have. */
  const contentOf = ({ changedAt, ...record }: ExportedBase) => JSON.stringify(record);

  it.each([
    ['devices', 1],
    ['scripts', 2],
    ['configuration-policies', 3],
    ['custom-field-values', 4],
  ] as const)(
    'of %s is complete, without repeats and of one snapshot while records change',
    async (resource, seed) => {
      const lists: Record<keyof typeof TRUTH, ExportList> = {
        devices: (request) => service.listDevices(request),
        scripts: (request) => service.listScripts(request),
        'configuration-policies': (request) => service.listConfigurationPolicies(request),
        'custom-field-values': (request) => service.listCustomFieldValues(request),
      };
      const list = lists[resource];
      const tenant = await createTenant(seeded(seed));
      const { partnerId } = tenant;
      const consumed = new Map<string, string>();
      let updatedSince: string | null = null;
      for (let round = 0; round < 5; round += 1) {
        const { records, snapshotAt } = await readAllPages(list, partnerId, { updatedSince, limit: 60 }, tenant.change);
        const pairs = records.map(pairOf);
        expect(new Set(pairs).size).toBe(pairs.length);
        const order = records.map(({ changedAt, sourceUpdatedAt, ...record }) =>
          updatedSince === null ? pairOf(record) : `${changedAt ?? sourceUpdatedAt} ${pairOf(record)}`,
        );
        expect(order).toEqual([...order].sort());
        for (const record of records) consumed.set(pairOf(record), contentOf(record));
        updatedSince = snapshotAt;
        await tenant.change();
      }
      while (await stampNext(restamps, 500));
      const last = await readAllPages(list, partnerId, { updatedSince, limit: 60 });
      for (const record of last.records) consumed.set(pairOf(record), contentOf(record));

      const complete = await readAllPages(list, partnerId, { limit: 60 });
      const truth = await readTruth(resource, partnerId);
      expect(complete.records.map(pairOf).sort()).toEqual(truth);
      const missed = complete.records.filter((record) => consumed.get(pairOf(record)) !== contentOf(record));
      expect(missed).toEqual([]);
      expect(truth.length).toBeGreaterThan(100);
    },
    120_000,
  );

  it('returns a record that is deleted and published again during an export only as a change', async () => {
    const partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    const list: ExportList = (request) => service.listAutomations(request);
    const keys = { partnerId, orgId, resource: 'automations' as const };
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.push(await publishRecord(database, { ...keys, record: { name: 'A' } }));
    const last = ids.toSorted().at(-1) ?? '';
    // The snapshot is a millisecond before the clock.
    await database.admin.query('SELECT pg_sleep(0.002)');
    let isChanged = false;
    const { records, snapshotAt } = await readAllPages(list, partnerId, { limit: 1 }, async () => {
      if (isChanged) return;
      isChanged = true;
      await publishRecord(database, { ...keys, id: last, record: null });
      await database.admin.query('SELECT pg_sleep(0.002)');
      await publishRecord(database, { ...keys, id: last, record: { name: 'B' } });
    });
    expect(records.map(({ id }) => id)).toEqual(ids.toSorted().slice(0, -1));
    const changes = await readAllPages(list, partnerId, { updatedSince: snapshotAt });
    expect(changes.records).toMatchObject([{ id: last, name: 'B' }]);
  });
});
