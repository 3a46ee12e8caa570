import { randomBytes, randomUUID } from 'node:crypto';
import { EXPORT_READ_LIMIT, toExportPage } from '@rmm/access';
import { organizationCaller, partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import {
  OrganizationExportRepository,
  PROVISIONING_EXPORTS,
  type ProvisioningExport,
} from './organization-export.repository.js';

const REPORTS = {
  device_disk: [`disks`, `'[{"name":"C:"}]'`],
  device_network: ['adapters', `'[{"name":"eth0"}]'`],
  device_software: ['software, total', `'[{"name":"Editor"}]', 1`],
  device_posture: ['collected_at', 'now()'],
} as const;

describe('OrganizationExportRepository', () => {
  let database: ProvisioningTestDatabase;
  let repository: OrganizationExportRepository;
  const partnerId = randomUUID();
  let orgId: string;
  let deviceId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    repository = new OrganizationExportRepository(database.tenants);
    await createOrganization();
    orgId = await createOrganization();
  }, 120_000);
  afterAll(() => database?.stop());

  /** Creates an organization with one record of each resource. */
  const createOrganization = async () => {
    const id = await database.createOrganization(partnerId);
    const owner = [partnerId, id];
    const insert = (sql: string, values: unknown[] = owner) => database.admin.query(sql, values);
    await database.createSite(partnerId, id);
    const hardware = { serialNumber: 'SN-1' };
    deviceId = await database.createDevice(partnerId, id, { hardware, agent_token_hash: randomBytes(32) });
    await insert(`INSERT INTO contact (partner_id, org_id, name) VALUES ($1, $2, 'Kim')`);
    await insert(`INSERT INTO contact_link (partner_id, org_id, contact_id, system, external_id)
                  SELECT partner_id, org_id, id, 'psa', 'c-' || id FROM contact WHERE org_id = $2 AND partner_id = $1`);
    await insert(`INSERT INTO custom_field_definition (partner_id, org_id, field_key, name, name_key, type)
                  VALUES ($1, $2, 'owner', 'Owner', 'owner', 'text')`);
    await insert(`INSERT INTO external_link (partner_id, org_id, system, external_id)
                  VALUES ($1, $2, 'psa', gen_random_uuid()::text)`);
    await insert(
      `WITH added AS (
         INSERT INTO device_group (partner_id, org_id, name, name_key) VALUES ($1, $2, 'Servers', 'servers') RETURNING id)
       INSERT INTO device_group_member (group_id, device_id, partner_id, org_id) SELECT id, $3, $1, $2 FROM added`,
      [...owner, deviceId],
    );
    await addScripts(owner, 1, 'df -h');
    await insert(`INSERT INTO export_record (resource, id, partner_id, org_id, source_updated_at, record)
                  VALUES ('automations', gen_random_uuid(), $1, $2, now(), '{"name": "A"}')`);
    for (const [table, [columns, values]] of Object.entries(REPORTS)) {
      const sql = `INSERT INTO ${table} (device_id, partner_id, org_id, ${columns}) VALUES ($3, $1, $2, ${values})`;
      await insert(sql, [...owner, deviceId]);
    }
    await insert(
      `INSERT INTO device_posture_product (device_id, partner_id, org_id, device_created_at, category, name, status)
       VALUES ($3, $1, $2, now(), 'rmm', 'Datto RMM', 'active')`,
      [...owner, deviceId],
    );
    await insert(
      `INSERT INTO agent_command (device_id, partner_id, org_id, type, payload_sealed, expires_at)
       VALUES ($3, $1, $2, 'dev_push', 'sealed', now())`,
      [...owner, deviceId],
    );
    await insert(
      `INSERT INTO dev_push (id, device_id, partner_id, org_id, token_hash, checksum, bytes, version, component, expires_at)
       VALUES (gen_random_uuid(), $3, $1, $2, $4, repeat('a', 64), 1, '1', 'agent', now())`,
      [...owner, deviceId, randomBytes(32)],
    );
    return id;
  };
  /** Adds scripts, each with one replaced version. */
  const addScripts = (owner: unknown[], count: number, content: string) =>
    database.admin.query(
      `WITH added AS (
         INSERT INTO script (id, partner_id, org_id, name, name_key, os_types, language, content, run_as, timeout_seconds,
           version, definition_sha256)
         SELECT id, $1, $2, 'S', id::text, '{linux}', 'bash', $4, 'system', 300, 2, repeat('0', 64)
           FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $3::int)) ids
         RETURNING *)
       INSERT INTO script_version (id, script_id, partner_id, org_id, name, os_types, language, content, run_as,
         timeout_seconds, version, created_at)
       SELECT gen_random_uuid(), id, partner_id, org_id, 'S', os_types, language, content, run_as, 300, 1, now() FROM added`,
      [...owner, count, content],
    );
  const list = (resource: ProvisioningExport, caller = partnerCaller(partnerId), after: string | null = null) =>
    repository.list(caller, resource, { orgId, partnerId }, after);

  it.each(PROVISIONING_EXPORTS)(
    'returns each %s of the organization, to callers with access to it only',
    async (resource) => {
      const rows = await list(resource);
      expect(rows).toHaveLength(1);
      expect(rows[0]?.id).toMatch(/^[\da-f-]{36}$/);
      expect(await list(resource, organizationCaller(partnerId, orgId))).toEqual(rows);
      expect(await list(resource, organizationCaller(partnerId, randomUUID()))).toEqual([]);
      expect(await list(resource, partnerCaller(randomUUID()))).toEqual([]);
      const foreign = { orgId, partnerId: randomUUID() };
      expect(await repository.list(partnerCaller(partnerId), resource, foreign, null)).toEqual([]);
    },
  );

  it('returns records with what belongs to them, and no token of an agent', async () => {
    expect(await list('organization')).toMatchObject([{ id: orgId, externalLinks: [{ system: 'psa' }] }]);
    expect(await list('contact')).toMatchObject([{ name: 'Kim', externalLinks: [{ system: 'psa' }] }]);
    const [group] = await list('device_group');
    const [device] = await list('device');
    expect(device).toMatchObject({ id: deviceId, hostname: 'pc-1', status: 'online', groupIds: [group?.id] });
    expect(Object.keys(device ?? {}).filter((field) => /token|hash/i.test(field))).toEqual([]);
    expect(await list('device_hardware')).toMatchObject([{ id: deviceId, hardware: { serialNumber: 'SN-1' } }]);
    expect(await list('device_posture')).toMatchObject([{ id: deviceId, products: [{ name: 'Datto RMM' }] }]);
  });

  it.each(['script', 'script_version'] as const)(
    'returns large records of %s in pages of a bounded size',
    async (resource) => {
      const id = await database.createOrganization(partnerId);
      await addScripts([partnerId, id], 12, 'x'.repeat(262_144));
      const seen = new Set<string>();
      let after: string | null = null;
      do {
        const rows = await repository.list(partnerCaller(partnerId), resource, { orgId: id, partnerId }, after);
        expect(JSON.stringify(rows).length).toBeLessThan(2_000_000);
        const page = toExportPage(rows, (row) => row.id);
        for (const row of page.records as { id: string }[]) seen.add(row.id);
        after = page.next;
      } while (after !== null);
      expect(seen.size).toBe(12);
    },
  );

  it('returns pages in the order of ids, also of a deleted organization', async () => {
    await database.admin.query('UPDATE organization SET deleted_at = now() WHERE id = $1', [orgId]);
    await database.admin.query(
      `INSERT INTO contact (partner_id, org_id, name) SELECT $1, $2, 'Contact ' || n FROM generate_series(1, $3::int) n`,
      [partnerId, orgId, EXPORT_READ_LIMIT],
    );
    const first = await list('contact');
    expect(first).toHaveLength(EXPORT_READ_LIMIT);
    const rest = await list('contact', partnerCaller(partnerId), first.at(-1)?.id ?? null);
    const ids = [...first, ...rest].map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(EXPORT_READ_LIMIT + 1);
    expect(await list('organization')).toMatchObject([{ deletedAt: expect.any(Date) }]);
  });
});
