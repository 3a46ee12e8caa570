import { randomUUID } from 'node:crypto';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { OrganizationDirectoryRepository } from './organization-directory.repository.js';

describe('OrganizationDirectoryRepository', () => {
  let database: ProvisioningTestDatabase;
  let directory: OrganizationDirectoryRepository;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    directory = new OrganizationDirectoryRepository(database.worker);
  });
  afterAll(() => database?.stop());

  it('returns organizations of several partners, deleted ones included and unknown ones omitted', async () => {
    const [live, deleted] = [
      await database.createOrganization(randomUUID()),
      await database.createOrganization(randomUUID()),
    ];
    await database.admin.query('UPDATE organization SET deleted_at = now() WHERE id = $1', [deleted]);
    const found = await directory.get([live, deleted, randomUUID()]);
    expect(new Map(found.map((each) => [each.orgId, each.deleted]))).toEqual(
      new Map([
        [live, false],
        [deleted, true],
      ]),
    );
  });

  it('refuses more than 1,000 ids', async () => {
    await expect(directory.get(Array(1_001).fill(randomUUID()))).rejects.toThrow('At most 1000');
  });

  it('lists all organizations page by page, ordered by id', async () => {
    for (let count = 0; count < 5; count += 1) await database.createOrganization(randomUUID());
    const listed: string[] = [];
    let after: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof directory.listSince>> = await directory.listSince({ after, limit: 2 });
      listed.push(...page.organizations.map(({ orgId }) => orgId));
      after = page.next;
    } while (after !== null);
    const { rows } = await database.admin.query('SELECT id FROM organization ORDER BY id');
    expect(listed).toEqual(rows.map(({ id }) => id));
  });
});
