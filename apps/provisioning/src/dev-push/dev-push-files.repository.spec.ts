import { randomUUID } from 'node:crypto';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { DevPushFilesRepository } from './dev-push-files.repository.js';

const MB = 1024 * 1024;

describe('DevPushFilesRepository', () => {
  let database: ProvisioningTestDatabase;
  let files: DevPushFilesRepository;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    files = new DevPushFilesRepository(database.worker);
  });
  afterAll(() => database?.stop());
  beforeEach(() => database.admin.query('TRUNCATE dev_push_file CASCADE'));

  /** Returns the id of a reserved file, an empty text when there is no space. */
  const reserve = async (bytes = MB, maxBytes = 1_000 * MB) => {
    const id = randomUUID();
    return (await files.reserve(id, bytes, maxBytes)) ? id : '';
  };
  const read = async (id: string) => {
    const parts: Buffer[] = [];
    for await (const part of files.read(id)) parts.push(part);
    return parts;
  };
  const countChunks = async () =>
    (await database.admin.query('SELECT count(*)::int AS n FROM dev_push_chunk')).rows[0].n as number;

  it('returns the parts of a file in their order, and none of another', async () => {
    const [id, other] = [await reserve(), await reserve()];
    const parts = Array.from({ length: 12 }, (_, n) => Buffer.from(`part ${n}`));
    for (const [n, bytes] of parts.entries()) await files.insertPart(id, n, bytes);
    await files.insertPart(other, 0, Buffer.from('other'));
    expect(await read(id)).toEqual(parts);
    expect(await read(randomUUID())).toEqual([]);
  });

  it('reserves no more than the limit, also by parallel uploads', async () => {
    const reserved = await Promise.all(Array.from({ length: 6 }, () => reserve(30 * MB, 100 * MB)));
    expect(reserved.filter(Boolean)).toHaveLength(3);
    await files.delete(reserved.find(Boolean) ?? '');
    expect(await reserve(40 * MB, 100 * MB)).not.toBe('');
    expect(await reserve(1, 100 * MB)).toBe('');
  });

  it('deletes a file with its parts', async () => {
    const id = await reserve();
    await files.insertPart(id, 0, Buffer.alloc(1_000));
    await files.delete(id);
    expect(await countChunks()).toBe(0);
  });

  it('refuses a part of a file that was deleted meanwhile', async () => {
    await expect(files.insertPart(randomUUID(), 0, Buffer.alloc(1))).rejects.toMatchObject({ code: '23503' });
  });

  it('deletes files of a certain age and keeps younger ones', async () => {
    const [old, recent] = [await reserve(), await reserve()];
    for (const id of [old, recent]) await files.insertPart(id, 0, Buffer.alloc(10));
    await database.admin.query(`UPDATE dev_push_file SET created_at = now() - interval '16 min' WHERE id = $1`, [old]);
    await files.purge(15);
    expect([(await read(old)).length, (await read(recent)).length]).toEqual([0, 1]);
  });
});
