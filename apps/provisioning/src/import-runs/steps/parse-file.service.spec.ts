import ExcelJS from 'exceljs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UserCaller } from '@rmm/access';
import type { TenantDatabase } from '@rmm/persistence';
import { NO_STORED_ORGANIZATIONS } from '../../../test/no-stored-organizations.js';
import { FileRowsService } from '../file-rows.service.js';
import type { ImportFilesRepository } from '../files/import-files.repository.js';
import type { ImportRunRowsRepository } from '../import-run-rows.repository.js';
import type { ImportRunsRepository, LeasedRun, RunAdvance } from '../import-runs.repository.js';
import { ParseFileService } from './parse-file.service.js';

describe('ParseFileService', () => {
  let stored: { index: number; position: number | null; annotation: string | null }[];
  let advances: RunAdvance[];
  let isDeleted: boolean;
  let largestBatch: number;

  function parse(
    file: string | Buffer,
    changes: Partial<LeasedRun> = {},
    fileRows = new FileRowsService(NO_STORED_ORGANIZATIONS),
  ): Promise<boolean> {
    [stored, advances, isDeleted, largestBatch] = [[], [], false, 0];
    const tenants = {
      transaction: (_: unknown, work: (tx: object) => unknown) => work({}),
    } as unknown as TenantDatabase;
    const runs = {
      advance: (_: unknown, run: LeasedRun, advance: RunAdvance) => Promise.resolve(void advances.push(advance)),
    } as unknown as ImportRunsRepository;
    const rows = {
      deleteAll: () => Promise.resolve(void (stored = [])),
      insert: (_: unknown, __: unknown, batch: typeof stored) => {
        largestBatch = Math.max(largestBatch, batch.length);
        for (const row of batch) stored.push(row);
        return Promise.resolve();
      },
    } as unknown as ImportRunRowsRepository;
    const bytes = Buffer.from(file);
    const files = {
      read: async function* () {
        for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
      },
      delete: () => Promise.resolve(void (isDeleted = true)),
    } as unknown as ImportFilesRepository;
    const service = new ParseFileService(tenants, runs, rows, files, fileRows);
    const run = { id: 'r', partnerId: 'p', kind: 'organizations', columns: null, mapping: null, ...changes };
    return service.runChunk({} as UserCaller, run as LeasedRun);
  }

  it('stores rows in batches with the position of their organization, and deletes the file', async () => {
    expect(await parse('organization,externalId\nAcme,1\nBeta,\nacme,2\nGamma,1\n')).toBe(true);
    expect(stored.map(({ position }) => position)).toEqual([0, 1, 0, 0]);
    expect(isDeleted).toBe(true);
    expect(advances.at(-1)).toMatchObject({ state: 'annotating', total: 4, mapping: { organization: 'organization' } });
  });

  it('is ready for a mapping when it finds no column for a required field', async () => {
    expect(await parse('a,b\n1,2\n')).toBe(false);
    expect(advances.at(-1)).toMatchObject({ state: 'ready', columns: ['a', 'b'], mapping: {} });
    expect(stored).toMatchObject([{ position: null, annotation: null }]);
  });

  it('refuses a mapping of a column that the file lacks', async () => {
    await expect(parse('a\n1\n', { mapping: { organization: 'b' } })).rejects.toMatchObject({
      code: 'import_column_unknown',
    });
  });

  it('accepts 100,000 rows in batches of 1,000 and no more', async () => {
    const names = Array.from({ length: 100_001 }, (_, n) => `C${n >> 2}\n`).join('');
    const assign = (_: unknown, __: unknown, rows: readonly { index: number }[]) =>
      Promise.resolve(rows.map(({ index }) => ({ index, position: index, annotation: null, reason: null })));
    const unchecked = { readStates: assign } as unknown as FileRowsService;
    await expect(parse(`organization\n${names}`, {}, unchecked)).rejects.toMatchObject({
      code: 'import_file_too_many_rows',
    });
    expect([stored.length, largestBatch]).toEqual([100_000, 1_000]);
  });

  /** Returns an XLSX file of rows whose cells all show one text of 10,000 characters. */
  async function buildRepetitiveXlsx(rows: number, columns: number): Promise<Buffer> {
    const workbook = new ExcelJS.Workbook();
    const sheet = workbook.addWorksheet('Customers');
    sheet.addRow(['organization']);
    for (let n = 0; n < rows; n += 1) sheet.addRow(Array.from({ length: columns }, () => 'x'.repeat(10_000)));
    return Buffer.from(await workbook.xlsx.writeBuffer());
  }

  it('stores batches in the order of the file, however long the look-ups of each take', async () => {
    let calls = 0;
    const concurrent: number[] = [];
    let running = 0;
    const assign = async (_: unknown, __: unknown, rows: readonly { index: number }[]) => {
      concurrent.push((running += 1));
      if ((calls += 1) === 1) await sleep(50);
      running -= 1;
      return rows.map(({ index }) => ({ index, position: index, annotation: null, reason: null }));
    };
    const names = Array.from({ length: 3_500 }, (_, n) => `C${n}\n`).join('');
    expect(await parse(`organization\n${names}`, {}, { readStates: assign } as unknown as FileRowsService)).toBe(true);
    expect(stored.map(({ index }) => index)).toEqual(Array.from({ length: 3_500 }, (_, n) => n));
    expect(concurrent).toEqual([1, 1, 1, 1]);
    expect(advances.at(-1)).toMatchObject({ state: 'annotating', total: 3_500 });
  });

  it('ends a batch at two million characters', async () => {
    const row = Array.from({ length: 90 }, () => 'x'.repeat(10_000)).join(',');
    await parse(`organization\n${`${row}\n`.repeat(10)}`);
    expect([stored.length, largestBatch]).toEqual([10, 3]);
  });

  it('refuses a row of more than a million characters, also in a small XLSX file', async () => {
    const file = await buildRepetitiveXlsx(3, 101);
    expect(file.length).toBeLessThan(20_000);
    await expect(parse(file)).rejects.toMatchObject({
      code: 'import_file_too_large',
      message: 'Line 2 of the file has more than 1,000,000 characters',
    });
  });

  it('refuses a small XLSX file whose cells show more than fifty million characters', async () => {
    const file = await buildRepetitiveXlsx(56, 90);
    expect(file.length).toBeLessThan(50_000);
    await expect(parse(file)).rejects.toMatchObject({ code: 'import_file_too_large' });
    expect([stored.length, largestBatch]).toEqual([54, 3]);
  });

  it('marks the rows beyond 5,000 of one organization, and a cell that is too long, as invalid', async () => {
    await parse(`organization\n${'Acme\n'.repeat(5_002)}${'x'.repeat(10_001)}\n`);
    expect(stored.filter(({ annotation }) => annotation === 'invalid').map(({ index }) => index)).toEqual([
      5_000, 5_001, 5_002,
    ]);
  });
});
