import { randomUUID } from 'node:crypto';
import { ERASING_SERVICES } from '@rmm/contracts';
import type { Outbox, OutgoingMessage } from '@rmm/messaging';
import { AuditTrail } from '@rmm/messaging';
import { tablesOfOrganizations } from '@rmm/persistence/testing';
import { type Logger, NotFoundError } from '@rmm/service-kit';
import { partnerCaller, ProvisioningTestDatabase, TEST_SECRETS } from '../../test/provisioning-test-database.js';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import { EraseOrganizationsJob } from './erase-organizations.job.js';
import { ErasureReportsService } from './erasure-reports.service.js';
import { OrganizationErasuresRepository } from './organization-erasures.repository.js';

const TABLES = [
  'contact',
  'contact_link',
  'custom_field_definition',
  'device',
  'device_state',
  'device_hardware',
  'export_record',
  'device_group',
  'device_group_member',
  'site',
  'external_link',
  'psa_connection',
  'psa_proposal',
  'import_change',
  'import_run_row',
  'script',
  'script_version',
];

describe('EraseOrganizationsJob', () => {
  let database: ProvisioningTestDatabase;
  let published: OutgoingMessage[];
  let partnerId: string;
  const failing = new Set<string>();
  const error = jest.fn();
  const logger = { error } as unknown as Logger;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
  });
  afterAll(() => database?.stop());
  beforeEach(() => {
    published = [];
    partnerId = randomUUID();
  });

  /** A process with the job; `failsAfter` batches it ends. */
  function startJob(failsAfter = Infinity): EraseOrganizationsJob {
    return startProcess(failsAfter).job;
  }

  /** The other services report, all at the same time. */
  async function reportOthers(orgId: string): Promise<void> {
    const { reports } = startProcess();
    await Promise.all(
      ERASING_SERVICES.map((service) => reports.receive({ orgId, partnerId, service, erased: { account: 1 } })),
    );
  }

  function startProcess(failsAfter = Infinity) {
    const publish = (_: unknown, messages: OutgoingMessage | OutgoingMessage[]) => {
      published.push(...[messages].flat());
      return Promise.resolve();
    };
    const outbox = { publish } as unknown as Outbox;
    const erasures = new OrganizationErasuresRepository(database.worker, database.tenants);
    let batches = 0;
    const eraseBatch = erasures.eraseBatch.bind(erasures);
    erasures.eraseBatch = async (...given) => {
      if (failing.has(given[1].orgId)) throw new Error('a row that cannot be deleted');
      const found = await eraseBatch(given[0], given[1], 2);
      if ((batches += 1) > failsAfter) throw new Error('killed');
      return found;
    };
    const claim = erasures.claim.bind(erasures);
    erasures.claim = (...given) => (batches > failsAfter ? Promise.reject(new Error('killed')) : claim(...given));
    const reports = new ErasureReportsService(erasures, new AuditTrail(outbox, database.worker));
    return { job: new EraseOrganizationsJob(erasures, reports, outbox, logger), reports };
  }

  async function createCustomer(deletedDaysAgo: number | null): Promise<string> {
    const orgId = await database.createOrganization(partnerId, { name: 'Secret Customer' });
    const siteId = await database.createSite(partnerId, orgId);
    const { rows } = await database.admin.query(
      `INSERT INTO device_group (partner_id, org_id, name, name_key) VALUES ($1, $2, 'G', 'g') RETURNING id`,
      [partnerId, orgId],
    );
    for (let n = 0; n < 5; n += 1) {
      const deviceId = await database.createDevice(partnerId, orgId, { site_id: siteId, hardware: {} });
      await database.admin.query(
        'INSERT INTO device_group_member (group_id, device_id, partner_id, org_id) VALUES ($1, $2, $3, $4)',
        [rows[0].id, deviceId, partnerId, orgId],
      );
    }
    await database.admin.query(
      `INSERT INTO custom_field_definition (partner_id, org_id, field_key, name, name_key, type)
       VALUES ($1, $2, 'owner', 'Owner', 'owner', 'text')`,
      [partnerId, orgId],
    );
    await database.admin.query(
      `INSERT INTO external_link (partner_id, org_id, system, external_id) VALUES ($1, $2, 'csv', $3)`,
      [partnerId, orgId, randomUUID()],
    );
    await database.admin.query(
      `INSERT INTO psa_connection (id, partner_id, org_id, provider, name, name_key) VALUES ($1, $2, $3, 'jira', 'P', 'p')`,
      [randomUUID(), partnerId, orgId],
    );
    const connectionId = randomUUID();
    await database.admin.query(
      `INSERT INTO psa_connection (id, partner_id, provider, name, name_key) VALUES ($1, $2, 'jira', 'P', 'p')`,
      [connectionId, partnerId],
    );
    await database.admin.query(
      `INSERT INTO psa_proposal (partner_id, connection_id, kind, external_id, name, name_key, org_id, seen_by)
       VALUES ($1, $2, 'rename', '1', 'Secret name', 'secret name', $3, $2)`,
      [partnerId, connectionId, orgId],
    );
    const run = await database.admin.query(
      `INSERT INTO import_run (partner_id, kind, source, state) VALUES ($1, 'contacts', 'file', 'completed') RETURNING id`,
      [partnerId],
    );
    await database.admin.query(
      `INSERT INTO import_change (run_id, partner_id, org_id, resource, action, record_id, before)
       VALUES ($1, $2, $3, 'contact', 'update', $3, '{"name": "Ann"}')`,
      [run.rows[0].id, partnerId, orgId],
    );
    await database.admin.query(
      `INSERT INTO import_run_row (run_id, partner_id, index, line, cells, org_id) VALUES ($1, $2, 0, 2, '["Ann"]', $3)`,
      [run.rows[0].id, partnerId, orgId],
    );
    await database.admin.query(
      `WITH added AS (
         INSERT INTO script (id, partner_id, org_id, name, name_key, os_types, language, content, run_as, timeout_seconds,
           version, definition_sha256)
         VALUES (gen_random_uuid(), $1, $2, 'S', 's', '{linux}', 'bash', 'df', 'system', 300, 2, repeat('0', 64))
         RETURNING id, partner_id, org_id)
       INSERT INTO script_version (id, script_id, partner_id, org_id, name, os_types, language, content, run_as,
         timeout_seconds, version, created_at)
       SELECT gen_random_uuid(), id, partner_id, org_id, 'S', '{linux}', 'bash', 'df', 'system', 300, 1, now() FROM added`,
      [partnerId, orgId],
    );
    if (deletedDaysAgo !== null) {
      await database.admin.query(
        `UPDATE organization SET deleted_at = now() - make_interval(days => $2), settings = '{"a": 1}' WHERE id = $1`,
        [orgId, deletedDaysAgo],
      );
    }
    return orgId;
  }
  const countRows = async (orgId: string) => {
    const counts: Record<string, number> = {};
    for (const table of TABLES) {
      const { rows } = await database.admin.query(`SELECT count(*)::int AS n FROM ${table} WHERE org_id = $1`, [orgId]);
      counts[table] = rows[0].n;
    }
    return counts;
  };
  const nothing = Object.fromEntries(TABLES.map((table) => [table, 0]));

  it('erases what was deleted more than 30 days ago and nothing else', async () => {
    const [due, recent, live] = [await createCustomer(31), await createCustomer(29), await createCustomer(null)];
    const kept = [await countRows(recent), await countRows(live)];
    await startJob().run();
    expect(await countRows(due)).toEqual(nothing);
    expect([await countRows(recent), await countRows(live)]).toEqual(kept);
    const { rows } = await database.admin.query('SELECT * FROM organization WHERE id = $1', [due]);
    expect(rows[0]).toMatchObject({ name: 'Erased organization', slug: due, settings: {}, billing_contact: null });
  });

  it('publishes the tombstone, and audits the numbers of all services with the last report, without the name', async () => {
    const orgId = await createCustomer(31);
    await startJob().run();
    const own = () => published.filter((message) => message.orgId === orgId);
    expect(own().map(({ type }) => type)).toEqual(['organization.updated', 'organization.erased']);
    expect(own()[0]?.data).toMatchObject({ name: 'Erased organization', deleted: true, version: 2 });
    expect(own()[1]?.data).toEqual({ orgId, partnerId });
    await reportOthers(orgId);
    expect(
      own()
        .map(({ type }) => type)
        .slice(2),
    ).toEqual(['organization.erase']);
    expect(own()[2]?.data).toMatchObject({
      details: {
        services: [
          { service: 'credentials', erased: { account: 1 } },
          { service: 'identity', erased: { account: 1 } },
          {
            service: 'provisioning',
            erased: {
              custom_field_definition: 1,
              device: 5,
              device_group: 1,
              import_change: 1,
              import_run_row: 1,
              site: 1,
            },
          },
          { service: 'webhook-dispatcher', erased: { account: 1 } },
        ],
      },
    });
    expect(JSON.stringify(own())).not.toContain('Secret Customer');
    await reportOthers(orgId); // repeated reports change nothing
    expect(own()).toHaveLength(3);
  });

  it('announces an erasure again while a service has not reported', async () => {
    const orgId = await createCustomer(31);
    const announced = () => published.filter(({ type, orgId: of }) => type === 'organization.erased' && of === orgId);
    const age = () =>
      database.admin.query(`UPDATE organization_erasure SET announced_at = now() - interval '61 minutes'`);
    await startJob().run();
    await startJob().run();
    expect(announced()).toHaveLength(1);
    await age();
    await startJob().run();
    expect(announced()).toHaveLength(2);
    await reportOthers(orgId);
    await age();
    await startJob().run();
    expect(announced()).toHaveLength(2);
  });

  it('continues where a killed process stopped', async () => {
    const orgId = await createCustomer(31);
    await expect(startJob(3).run()).rejects.toThrow('killed');
    expect((await countRows(orgId)).device).toBe(3);
    await startJob().run();
    expect(await countRows(orgId)).toEqual(nothing);
    await reportOthers(orgId);
    const entry = published.find(({ type, orgId: of }) => type === 'organization.erase' && of === orgId);
    expect(entry?.data).toMatchObject({
      details: {
        services: expect.arrayContaining([expect.objectContaining({ erased: expect.objectContaining({ device: 5 }) })]),
      },
    });
  });

  it('leaves an organization whose records cannot be deleted to the next run, and erases the others', async () => {
    const orgIds = [await createCustomer(31), await createCustomer(31)].sort();
    const [stuck, other] = orgIds as [string, string]; // in the order in which they are claimed
    failing.add(stuck);
    await startJob().run();
    expect([(await countRows(stuck)).device, await countRows(other)]).toEqual([5, nothing]);
    expect(error).toHaveBeenCalledWith(expect.objectContaining({ orgId: stuck }), expect.any(String));
    failing.clear();
    await startJob().run();
    expect(await countRows(stuck)).toEqual(nothing);
  });

  it('erases each organization once under two replicas', async () => {
    const orgIds = await Promise.all([createCustomer(31), createCustomer(31), createCustomer(31)]);
    await Promise.all([startJob().run(), startJob().run()]);
    await startJob().run();
    for (const orgId of orgIds) {
      expect(await countRows(orgId)).toEqual(nothing);
      await Promise.all([reportOthers(orgId), reportOthers(orgId)]);
      expect(published.filter(({ type, orgId: of }) => type === 'organization.erase' && of === orgId)).toHaveLength(1);
    }
  });

  it('leaves an organization that is restored first, and cannot be undone once it began', async () => {
    const organizations = new OrganizationsRepository(database.tenants, TEST_SECRETS);
    const caller = partnerCaller(partnerId);
    const orgId = await createCustomer(31);
    await database.tenants.transaction(caller, async (tx) => {
      await organizations.restore(tx, orgId, 'restored');
      await startJob().run();
    });
    expect((await countRows(orgId)).device).toBe(5);
    const erased = await createCustomer(31);
    await startJob().run();
    const restored = database.tenants.transaction(caller, (tx) => organizations.restore(tx, erased, 'again'));
    await expect(restored).rejects.toThrow(NotFoundError);
  });

  it('erases every table of organizations', async () => {
    const withTheirDevice = [
      'agent_token_rotation',
      'agent_command',
      'dev_push',
      'device_disk',
      'device_network',
      'device_posture',
      'device_posture_product',
      'device_provision',
      'device_software',
      'posture_count',
    ];
    const atOnce = ['organization_security', 'site_count'];
    // a counter; responses, which end after a day; what the job of exports removes
    const kept = [
      'organization_count',
      'idempotency_record',
      'export_restamp',
      'organization_erasure',
      'organization_erasure_part',
    ];
    expect(await tablesOfOrganizations(database.worker, 'provisioning')).toEqual(
      [...TABLES, ...withTheirDevice, ...atOnce, ...kept].sort(),
    );
  });
});
