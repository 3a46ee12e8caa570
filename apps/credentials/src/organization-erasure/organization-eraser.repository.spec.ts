import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { EraseOrganizationDataJob, OrganizationErasuresRepository, type OrganizationEraser } from '@rmm/access';
import type { RpcClient } from '@rmm/messaging';
import { tablesOfOrganizations } from '@rmm/persistence/testing';
import type { Logger } from '@rmm/service-kit';
import { adminPool } from '@rmm/testing-services';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { OrganizationEraserRepository } from './organization-eraser.repository.js';

const TABLES = ['api_key', 'api_key_usage', 'service_principal', 'enrollment_key'] as const;

describe('OrganizationEraserRepository', () => {
  let opened: CredentialsTestDatabase;
  let admin: ReturnType<typeof adminPool>;
  let erasures: OrganizationErasuresRepository;
  const reported: { orgId: string; erased: object }[] = [];

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    admin = adminPool(opened.database, { options: '-c search_path=credentials' });
    erasures = new OrganizationErasuresRepository(opened.worker);
  });
  afterAll(async () => {
    await admin.end();
    await opened.stop();
  });

  /** A process with batches of two records; ends after some of them. */
  function startJob(failsAfter = Infinity): EraseOrganizationDataJob {
    const repository = new OrganizationEraserRepository();
    let batches = 0;
    const eraser: OrganizationEraser = {
      eraseBatch: async (tx, organization) => {
        const erased = await repository.eraseBatch(tx, organization, 2);
        if ((batches += 1) > failsAfter) throw new Error('killed');
        return erased;
      },
    };
    const rpc = { call: (_: unknown, report: (typeof reported)[number]) => Promise.resolve(reported.push(report)) };
    const logger = { error: () => undefined } as unknown as Logger;
    return new EraseOrganizationDataJob(erasures, eraser, rpc as unknown as RpcClient, logger, 'credentials');
  }

  async function createCustomer(partnerId: string, deleted: boolean): Promise<string> {
    const orgId = await opened.createOrganization(partnerId);
    for (let n = 0; n < 3; n += 1) {
      const hash = randomBytes(32);
      const { rows } = await admin.query<{ id: string }>(
        `INSERT INTO service_principal (partner_id, org_id, name, scopes) VALUES ($1, $2, 'p', '{}') RETURNING id`,
        [partnerId, orgId],
      );
      await admin.query(
        `WITH key AS (
           INSERT INTO api_key (partner_id, org_id, name, key_prefix, key_hash, scopes, rate_limit, source, principal_id)
           VALUES ($1, $2, 'k', 'svc_', $3, '{}', 1, 'service_principal', $4) RETURNING id)
         INSERT INTO api_key_usage (key_id, partner_id, org_id, day, count) SELECT id, $1, $2, current_date, 1 FROM key`,
        [partnerId, orgId, hash, rows[0].id],
      );
      await admin.query(
        `INSERT INTO enrollment_key (partner_id, org_id, name, key_hash, expires_at) VALUES ($1, $2, 'e', $3, now())`,
        [partnerId, orgId, hash],
      );
    }
    if (deleted)
      await opened.worker.query('UPDATE organization_directory SET deleted = true WHERE org_id = :orgId', { orgId });
    return orgId;
  }
  const count = async (orgId: string) => {
    const counts: Record<string, number> = {};
    for (const table of TABLES) {
      const [row] = await opened.worker.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM ${table} WHERE org_id = :orgId`,
        { orgId },
      );
      counts[table] = row.n;
    }
    return counts;
  };
  const announce = (partnerId: string, ...orgIds: string[]) =>
    erasures.transaction(async (tx) => {
      for (const orgId of orgIds) await erasures.add(tx, { orgId, partnerId });
    });
  const nothing = Object.fromEntries(TABLES.map((table) => [table, 0]));
  const counts = { api_key: 3, service_principal: 3, enrollment_key: 3 };

  it('erases the keys and principals of the organization and of no other', async () => {
    const partnerId = randomUUID();
    const [erased, other] = [await createCustomer(partnerId, true), await createCustomer(partnerId, true)];
    const kept = await count(other);
    await announce(partnerId, erased);
    await startJob().run();
    expect(await count(erased)).toEqual(nothing);
    expect(await count(other)).toEqual(kept);
    expect(reported).toContainEqual(expect.objectContaining({ orgId: erased, erased: counts }));
  });

  it('erases nothing while the directory says that the organization is not deleted', async () => {
    const partnerId = randomUUID();
    const orgId = await createCustomer(partnerId, false);
    await announce(partnerId, orgId);
    await startJob().run();
    expect((await count(orgId)).api_key).toBe(3);
    await opened.worker.query('UPDATE organization_directory SET deleted = true WHERE org_id = :orgId', { orgId });
    await startJob().run();
    expect(await count(orgId)).toEqual(nothing);
  });

  it('continues after a killed process, and counts each record once', async () => {
    const partnerId = randomUUID();
    const orgId = await createCustomer(partnerId, true);
    await announce(partnerId, orgId);
    await startJob(1).run();
    expect((await count(orgId)).api_key).toBe(1);
    await startJob().run();
    expect(await count(orgId)).toEqual(nothing);
    expect(reported).toContainEqual(expect.objectContaining({ orgId, erased: counts }));
  });

  it('erases once under two replicas, and again what a restored backup brought back', async () => {
    const partnerId = randomUUID();
    const orgId = await createCustomer(partnerId, true);
    await announce(partnerId, orgId);
    await Promise.all([startJob().run(), startJob().run(), sleep(10).then(() => startJob().run())]);
    await startJob().run();
    const reports = () => reported.filter((report) => report.orgId === orgId);
    expect(reports().at(-1)).toMatchObject({ erased: counts });
    await opened.worker.query('UPDATE organization_directory SET deleted = true WHERE org_id = :orgId', { orgId });
    await announce(partnerId, orgId);
    const before = reports().length;
    await startJob().run();
    expect(reports()).toHaveLength(before + 1);
  });

  it('erases every table of organizations', async () => {
    // the directory; responses, which end after a day and name no key after ten minutes; the erasure itself
    const kept = ['organization_directory', 'idempotency_record', 'organization_erasure'];
    expect(await tablesOfOrganizations(opened.worker, 'credentials')).toEqual([...TABLES, ...kept].sort());
  });
});
