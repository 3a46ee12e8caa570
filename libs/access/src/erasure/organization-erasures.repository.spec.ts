import { randomUUID } from 'node:crypto';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { tenantTable } from '@rmm/persistence/testing';
import { AccessTestDatabase } from '../../test/access-test-database.js';
import { OrganizationErasuresRepository, type OrganizationErasure } from './organization-erasures.repository.js';

/** Creates the table as the services do. */
class AddErasures1767225600001 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`
      CREATE TABLE organization_erasure (
        org_id uuid PRIMARY KEY, partner_id uuid NOT NULL, erased jsonb NOT NULL DEFAULT '{}',
        started_at timestamptz NOT NULL DEFAULT now(), finished_at timestamptz, reported_at timestamptz)`);
    const worker = ['select', 'insert', 'update'] as const;
    await tenantTable(q, { table: 'organization_erasure', ownership: 'worker-only', worker: [...worker] });
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP TABLE organization_erasure');
  }
}

describe('OrganizationErasuresRepository', () => {
  let database: AccessTestDatabase;
  let repository: OrganizationErasuresRepository;

  beforeAll(async () => {
    database = await AccessTestDatabase.start([AddErasures1767225600001]);
    repository = new OrganizationErasuresRepository(database.worker);
  }, 120_000);
  afterEach(async () => {
    await database.worker.query(`UPDATE organization_erasure SET finished_at = now(), reported_at = now()`);
  });
  afterAll(() => database?.stop());

  /** Adds the erasure of an organization, `minutes` ago, which is deleted in the directory by default. */
  const add = async ({ minutesAgo = 0, deleted = true } = {}) => {
    const organization = { orgId: randomUUID(), partnerId: randomUUID() };
    await database.worker.query(
      `INSERT INTO organization_directory (org_id, partner_id, status, deleted, version)
       VALUES (:orgId, :partnerId, 'churned', :deleted, 1)`,
      { ...organization, deleted },
    );
    await repository.transaction((tx) => repository.add(tx, organization));
    await database.worker.query(
      'UPDATE organization_erasure SET started_at = now() - make_interval(mins => :minutesAgo) WHERE org_id = :orgId',
      { minutesAgo, orgId: organization.orgId },
    );
    return organization;
  };
  const claim = (skipped: string[] = []) => repository.transaction((tx) => repository.claim(tx, skipped));
  const finish = (organization: { orgId: string; partnerId: string }) =>
    repository.transaction((tx) => repository.finish(tx, organization));

  it('claims the oldest erasure that is not skipped', async () => {
    const [recent, old] = [await add(), await add({ minutesAgo: 5 })];
    expect(await claim()).toEqual({ ...old, erased: {} });
    expect(await claim([old.orgId])).toMatchObject(recent);
    expect(await claim([old.orgId, recent.orgId])).toBeNull();
  });

  it('gives erasures to one replica each', async () => {
    const organizations = [await add(), await add()];
    let claiming = 3;
    let release = () => undefined as void;
    const allHaveClaimed = new Promise<void>((resolve) => (release = resolve));
    const claimed = await Promise.all(
      [1, 2, 3].map(() =>
        repository.transaction(async (tx) => {
          const erasure = await repository.claim(tx, []);
          if ((claiming -= 1) === 0) release();
          await allHaveClaimed;
          return erasure?.orgId ?? null;
        }),
      ),
    );
    const expected = organizations.map(({ orgId }) => orgId);
    expect(claimed.filter((orgId) => orgId !== null).sort()).toEqual(expected.sort());
    expect(claimed).toContain(null);
  });

  it('never claims an organization that the directory does not say is deleted, or of another partner', async () => {
    await add({ deleted: false });
    const { orgId } = await add();
    await database.worker.query(
      'UPDATE organization_directory SET partner_id = gen_random_uuid() WHERE org_id = :orgId',
      { orgId },
    );
    expect(await claim()).toBeNull();
  });

  it('keeps the counts of an erasure that continues', async () => {
    const organization = await add();
    const erasure: OrganizationErasure = { ...organization, erased: { device: 3 } };
    await repository.transaction((tx) => repository.saveCounts(tx, erasure));
    expect(await claim()).toEqual(erasure);
  });

  it('lists finished erasures until they are reported', async () => {
    const organization = await add();
    await repository.markReported(organization);
    expect(await repository.listUnreported(10)).toEqual([]);
    await finish(organization);
    expect(await claim()).toBeNull();
    expect(await repository.listUnreported(10)).toEqual([{ ...organization, erased: {} }]);
    expect(await repository.listUnreported(0)).toEqual([]);
    await repository.markReported(organization);
    expect(await repository.listUnreported(10)).toEqual([]);
  });

  it('starts a finished erasure again when its event is repeated, not one in progress', async () => {
    const organization = await add({ minutesAgo: 5 });
    const repeat = () => repository.transaction((tx) => repository.add(tx, organization));
    await repeat();
    expect(await claim()).toMatchObject(organization);
    await finish(organization);
    await repository.markReported(organization);
    await repeat();
    expect(await claim()).toMatchObject(organization);
  });
});
