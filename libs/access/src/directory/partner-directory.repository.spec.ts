import { randomUUID } from 'node:crypto';
import type { WorkerDatabase } from '@rmm/persistence';
import { AccessTestDatabase } from '../../test/access-test-database.js';
import type { DirectoryPartner } from './directory-partner.js';
import { PartnerDirectoryRepository } from './partner-directory.repository.js';

describe('PartnerDirectoryRepository', () => {
  const repository = new PartnerDirectoryRepository();
  let database: AccessTestDatabase;
  let db: WorkerDatabase;

  beforeAll(async () => {
    database = await AccessTestDatabase.start();
    db = database.worker;
  }, 120_000);
  afterAll(() => database?.stop());

  const upsert = async (
    partnerId: string,
    { readSeconds = null, ...changes }: Partial<DirectoryPartner> & { readSeconds?: number | null } = {},
  ) => {
    const partner = { partnerId, status: 'active', version: 5, ...changes } as DirectoryPartner;
    return (await repository.upsertStatus(db, [partner], readSeconds)).length > 0;
  };
  const create = async (changes: Partial<DirectoryPartner> = {}) => {
    const partnerId = randomUUID();
    await upsert(partnerId, changes);
    return partnerId;
  };
  const find = async (partnerId: string) => (await repository.list(db, [partnerId]))[0] ?? null;
  const statusOf = async (partnerId: string) => (await find(partnerId))?.status;
  const setUpdatedLongAgo = (ids: readonly string[]) =>
    db.query(`UPDATE partner_directory SET updated_at = now() - interval '1 hour' WHERE partner_id = ANY (:ids)`, {
      ids,
    });

  it('stores a new partner with the strictest caps until its details are stored', async () => {
    const id = await create();
    const strictest = { maxOrganizations: 0, maxDevices: 0, enrollmentMaxTtlMinutes: 1 };
    expect(await find(id)).toMatchObject({ ...strictest, version: 5 });
    const details = { name: 'Acme', slug: 'acme', timezone: 'Europe/Zurich' };
    const caps = { maxOrganizations: null, maxDevices: 7, enrollmentMaxTtlMinutes: 60 };
    const other = await create();
    await repository.updateDetails(db, [{ partnerId: id, status: 'active', version: 5, ...details, ...caps }]);
    expect(await find(id)).toMatchObject({ ...details, ...caps, status: 'active' });
    expect(await find(other)).toMatchObject(strictest);
    expect(await find(randomUUID())).toBeNull();
  });

  describe('replacing a stored row', () => {
    it('accepts a newer version and refuses an older one or the same', async () => {
      const id = await create();
      expect(await upsert(id, { version: 4, status: 'suspended' })).toBe(false);
      expect(await upsert(id, { version: 5, status: 'suspended' })).toBe(false);
      expect(await upsert(id, { version: 6, status: 'suspended' })).toBe(true);
      expect(await statusOf(id)).toBe('suspended');
    });

    it('accepts the same version after a change that could not be read', async () => {
      const id = await create();
      await repository.markUnknown(db, { id, version: null });
      expect(await upsert(id, { version: 4 })).toBe(false);
      expect(await upsert(id, { version: 5 })).toBe(true);
      expect(await statusOf(id)).toBe('active');
    });

    it('accepts an older version that was read from the owner, unless the row was written meanwhile', async () => {
      const id = await create();
      expect(await upsert(id, { version: 3, status: 'suspended', readSeconds: 1 })).toBe(false);
      await setUpdatedLongAgo([id]);
      expect(await upsert(id, { version: 3, status: 'suspended', readSeconds: 1 })).toBe(true);
      expect(await find(id)).toMatchObject({ version: 3, status: 'suspended' });
    });
  });

  describe('markUnknown', () => {
    it('marks a row that is older than the unreadable change', async () => {
      const id = await create();
      expect(await repository.markUnknown(db, { id, version: 6 })).toBe(true);
      expect(await statusOf(id)).toBe('unknown');
    });

    it('leaves a row that has the version of the change or a newer one', async () => {
      const id = await create();
      expect(await repository.markUnknown(db, { id, version: 5 })).toBe(false);
      expect(await statusOf(id)).toBe('active');
    });

    it('returns false for a row that is not stored', async () => {
      expect(await repository.markUnknown(db, { id: randomUUID(), version: null })).toBe(false);
    });
  });

  describe('markMissing', () => {
    it('marks the rows of the range that the owner does not have, and no others', async () => {
      const [before, kept, missing, beyond] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()].sort();
      for (const id of [before, kept, missing, beyond]) await upsert(id);
      await setUpdatedLongAgo([before, kept, missing, beyond]);
      const range = { after: before, upTo: missing, ids: [kept], readSeconds: 1 };
      expect(await repository.markMissing(db, range)).toEqual([missing]);
      expect(await Promise.all([before, kept, missing, beyond].map(statusOf))).toEqual([
        'active',
        'active',
        'unknown',
        'active',
      ]);
    });

    it('leaves rows that were written while the owner was read', async () => {
      const id = await create();
      const all = { after: null, upTo: null, ids: [], readSeconds: 1 };
      expect(await repository.markMissing(db, all)).not.toContain(id);
      expect(await statusOf(id)).toBe('active');
    });
  });
});
