import { randomUUID } from 'node:crypto';
import type { ExportRequest } from '@rmm/contracts';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { ExportRepository, ORGANIZATIONS, SITES } from './export.repository.js';

describe('ExportRepository', () => {
  let database: ProvisioningTestDatabase;
  let repository: ExportRepository;
  let partnerId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    repository = new ExportRepository(database.worker);
  }, 60_000);
  afterAll(() => database?.stop());
  beforeEach(() => (partnerId = randomUUID()));

  const buildRequest = (over: Partial<ExportRequest> = {}): ExportRequest => ({
    partnerId,
    orgId: null,
    snapshotAt: null,
    updatedSince: null,
    after: null,
    limit: 10,
    ...over,
  });
  const future = () => new Date(Date.now() + 60_000).toISOString();

  it('lists active organizations of the partner by id, with one row more than the limit', async () => {
    const ids = [await database.createOrganization(partnerId), await database.createOrganization(partnerId)].sort();
    await database.createOrganization(partnerId, { status: 'suspended' });
    await database.createOrganization(randomUUID());
    const rows = await repository.list(ORGANIZATIONS, buildRequest({ limit: 1 }), future());
    expect(rows.map(({ id }) => id)).toEqual(ids);
  });

  it('lists changes in order of their time after a position', async () => {
    const orgId = await database.createOrganization(partnerId);
    const [first, second] = [
      await database.createSite(partnerId, orgId, 'A'),
      await database.createSite(partnerId, orgId, 'B'),
    ];
    // Times have milliseconds: the change is later only when the clock has advanced since the second site was created.
    await database.admin.query('SELECT pg_sleep(0.002)');
    await database.admin.query(`UPDATE site SET name = 'A2' WHERE id = $1`, [first]);
    const request = buildRequest({ updatedSince: new Date(0).toISOString() });
    const rows = await repository.list<{ name: string }>(SITES, request, future());
    expect(rows.map(({ id, name }) => [id, name])).toEqual([
      [second, 'B'],
      [first, 'A2'],
    ]);
    const [{ id, updatedAt }] = rows;
    const after = { id, orgId, updatedAt: updatedAt.toISOString() };
    expect((await repository.list(SITES, { ...request, after }, future())).map((row) => row.id)).toEqual([first]);
  });

  it('returns no snapshot time while the partner has uncommitted changes', async () => {
    const orgId = await database.createOrganization(partnerId);
    expect(await repository.findSnapshotTime(partnerId)).toBeInstanceOf(Date);
    const writer = await database.admin.connect();
    try {
      await writer.query('BEGIN');
      await writer.query(`UPDATE organization SET name = 'Changed' WHERE id = $1`, [orgId]);
      expect(await repository.findSnapshotTime(partnerId)).toBeNull();
      await writer.query('COMMIT');
    } finally {
      writer.release();
    }
    expect(await repository.findSnapshotTime(partnerId)).toBeInstanceOf(Date);
  });
});
