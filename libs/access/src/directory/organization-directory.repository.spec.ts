import { randomUUID } from 'node:crypto';
import type { WorkerDatabase } from '@rmm/persistence';
import { AccessTestDatabase } from '../../test/access-test-database.js';
import type { DirectoryOrganization } from './directory-organization.js';
import { OrganizationDirectoryRepository } from './organization-directory.repository.js';

describe('OrganizationDirectoryRepository', () => {
  const repository = new OrganizationDirectoryRepository();
  let database: AccessTestDatabase;
  let db: WorkerDatabase;

  beforeAll(async () => {
    database = await AccessTestDatabase.start();
    db = database.worker;
  }, 120_000);
  afterAll(() => database?.stop());

  const build = (changes: Partial<DirectoryOrganization> = {}): DirectoryOrganization => ({
    ...{ orgId: randomUUID(), partnerId: randomUUID(), name: 'Acme', slug: 'acme' },
    ...{ status: 'active', deleted: false, version: 5 },
    ...changes,
  });
  const upsert = (...rows: DirectoryOrganization[]) => repository.upsertStatus(db, rows, null);
  const find = async ({ orgId }: DirectoryOrganization) => (await repository.list(db, [orgId]))[0] ?? null;

  it('stores what decides about access first, and the details separately', async () => {
    const organization = build();
    expect(await find(organization)).toBeNull();
    expect(await upsert(organization)).toEqual([{ id: organization.orgId, isNew: true }]);
    expect(await find(organization)).toEqual({ ...organization, name: '', slug: '' });
    await repository.updateDetails(db, [organization]);
    expect(await find(organization)).toEqual(organization);
  });

  it('replaces partner, status and deletion by a newer version, and keeps the details', async () => {
    const organization = build();
    await upsert(organization);
    await repository.updateDetails(db, [organization]);
    const newer = { ...organization, partnerId: randomUUID(), status: 'churned', deleted: true, version: 6 } as const;
    expect(await upsert({ ...newer, version: 5 })).toEqual([]);
    expect(await upsert(newer)).toEqual([{ id: organization.orgId, isNew: false }]);
    expect(await find(organization)).toEqual(newer);
  });

  it('corrects a row of the same version by what was read from the owner', async () => {
    const organization = build();
    await upsert(organization);
    const read = (row: DirectoryOrganization) => repository.upsertStatus(db, [row], 1);
    expect(await read(organization)).toEqual([]);
    expect(await read({ ...organization, deleted: true })).toHaveLength(1);
    expect(await find(organization)).toMatchObject({ deleted: true });
  });

  it('writes many rows at once, and lets two writers of the same rows wait for each other', async () => {
    const rows = Array.from({ length: 50 }, () => build());
    const newer = rows.map((row) => ({ ...row, status: 'suspended' as const, version: 6 })).reverse();
    await Promise.all([upsert(...rows), upsert(...newer)]);
    await upsert(...newer);
    const stored = await Promise.all(rows.map(find));
    expect(stored.filter((row) => row?.status === 'suspended')).toHaveLength(50);
  });
});
