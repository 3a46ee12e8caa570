import { randomUUID } from 'node:crypto';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
} from '../../../test/provisioning-test-database.js';
import { ImportFilesRepository, type StoredFileKey } from './import-files.repository.js';

describe('ImportFilesRepository', () => {
  let database: ProvisioningTestDatabase;
  let files: ImportFilesRepository;
  let key: StoredFileKey;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    files = new ImportFilesRepository(database.tenants);
  });
  afterAll(() => database?.stop());
  beforeEach(() => (key = { runId: randomUUID(), partnerId: randomUUID() }));

  const insert = (part: number, bytes: Buffer, of = key) =>
    files.insertPart(partnerCaller(of.partnerId), of, part, bytes);
  async function read(of = key, as = partnerCaller(key.partnerId)): Promise<Buffer[]> {
    const parts: Buffer[] = [];
    for await (const part of files.read(as, of)) parts.push(part);
    return parts;
  }
  const remove = (of = key, as = partnerCaller(key.partnerId)) =>
    database.tenants.transaction(as, (tx) => files.delete(tx, of));
  /** Every value of a byte, so that no encoding can change it unnoticed. */
  const bytes = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256));

  it('returns the parts in their order and byte by byte, whichever was stored first', async () => {
    await insert(1, Buffer.from('end'));
    await insert(0, bytes);
    expect(await read()).toEqual([bytes, Buffer.from('end')]);
  });

  it('reads a part only when the one before is consumed', async () => {
    await insert(0, bytes);
    const parts = files.read(partnerCaller(key.partnerId), key);
    expect((await parts.next()).value).toEqual(bytes);
    await insert(1, Buffer.from('later'));
    expect((await parts.next()).value).toEqual(Buffer.from('later'));
    expect((await parts.next()).done).toBe(true);
  });

  it('returns nothing for a file that was not stored', async () => {
    expect(await read()).toEqual([]);
  });

  it('refuses a part that is stored twice', async () => {
    await insert(0, bytes);
    await expect(insert(0, Buffer.from('other'))).rejects.toThrow(/duplicate key/);
    expect(await read()).toEqual([bytes]);
  });

  it('deletes all parts of one file', async () => {
    const other = { ...key, runId: randomUUID() };
    for (const file of [key, other]) await insert(0, bytes, file);
    await insert(1, bytes);
    await remove();
    expect([await read(), await read(other)]).toEqual([[], [bytes]]);
  });

  it('stores, shows and deletes parts of the partner alone', async () => {
    await insert(0, bytes);
    const orgId = await database.createOrganization(key.partnerId);
    const otherPartner = { ...key, partnerId: randomUUID() };
    for (const stranger of [partnerCaller(otherPartner.partnerId), organizationCaller(key.partnerId, orgId)]) {
      expect([await read(key, stranger), await read(otherPartner, stranger)]).toEqual([[], []]);
      await expect(files.insertPart(stranger, key, 1, bytes)).rejects.toThrow(/row-level security/);
      await remove(key, stranger);
      await remove(otherPartner, stranger);
    }
    expect(await read(otherPartner)).toEqual([]);
    await remove(otherPartner);
    expect(await read()).toEqual([bytes]);
  });
});
