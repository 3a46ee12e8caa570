import { parse } from 'csv-parse/sync';
import { randomUUID } from 'node:crypto';
import { InvalidCursor } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { insertImportRun } from '../../test/import-run-records.js';
import { partnerCaller, ProvisioningTestDatabase, TEST_SECRETS } from '../../test/provisioning-test-database.js';
import { ImportChangesRepository } from './import-changes.repository.js';
import { ImportRunContentsService } from './import-run-contents.service.js';
import { ImportRunRowsRepository } from './import-run-rows.repository.js';
import { ImportRunsRepository } from './import-runs.repository.js';

describe('ImportRunContentsService', () => {
  let database: ProvisioningTestDatabase;
  let contents: ImportRunContentsService;
  let partnerId: string;
  let caller: ReturnType<typeof partnerCaller>;
  let id: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    const { tenants, worker } = database;
    const runs = new ImportRunsRepository(tenants, TEST_SECRETS, worker);
    const rows = new ImportRunRowsRepository(tenants);
    contents = new ImportRunContentsService(runs, rows, new ImportChangesRepository(tenants), TEST_SECRETS);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    caller = partnerCaller(partnerId);
    id = (await insertImportRun(database.admin, partnerId, { columns: '["Name", "City"]' })).runId;
  });

  /** Inserts `count` rows from an index on. */
  const insertRows = (count: number, { from = 0, cells = ['Acme'], annotation = 'invalid' } = {}) =>
    database.admin.query(
      `INSERT INTO import_run_row (run_id, partner_id, index, line, cells, annotation, reason)
       SELECT $1, $2, n, n + 2, $3, $4, 'no city' FROM generate_series($5::int, $5::int + $6::int - 1) AS n`,
      [id, partnerId, JSON.stringify(cells), annotation, from, count],
    );
  const page = { limit: 2, refused: false };
  const errorsOf = async () => {
    const parts: Buffer[] = [];
    for await (const part of (await contents.exportErrors(caller, id)).getStream()) parts.push(Buffer.from(part));
    return Buffer.concat(parts).toString().trimEnd().split('\n');
  };

  it('pages through rows with their cells by column', async () => {
    await insertRows(3);
    const first = await contents.listRows(caller, id, page);
    expect(first.data.map(({ index }) => index)).toEqual([0, 1]);
    expect(first.data[0]).toMatchObject({ line: 2, cells: { Name: 'Acme', City: '' }, annotation: 'invalid' });
    const cursor = first.pagination.nextCursor as string;
    const last = await contents.listRows(caller, id, { ...page, cursor });
    expect(last.data.map(({ index }) => index)).toEqual([2]);
    expect(last.pagination).toEqual({ limit: 2, nextCursor: null });
  });

  it('pages through changes without their sequence numbers', async () => {
    const orgId = await database.createOrganization(partnerId);
    await database.admin.query(
      `INSERT INTO import_change (run_id, partner_id, org_id, resource, action, record_id)
       SELECT $1, $2, $3, 'site', 'create', gen_random_uuid() FROM generate_series(1, 3)`,
      [id, partnerId, orgId],
    );
    const first = await contents.listChanges(caller, id, { limit: 2 });
    expect(first.data).toHaveLength(2);
    expect(first.data[0]).not.toHaveProperty('seq');
    const cursor = first.pagination.nextCursor as string;
    const last = await contents.listChanges(caller, id, { limit: 2, cursor });
    expect(last.pagination.nextCursor).toBeNull();
    expect(new Set([...first.data, ...last.data].map(({ recordId }) => recordId)).size).toBe(3);
  });

  it('refuses a cursor of another filter, list or run', async () => {
    await insertRows(3);
    const cursor = (await contents.listRows(caller, id, page)).pagination.nextCursor as string;
    const other = (await insertImportRun(database.admin, partnerId)).runId;
    for (const request of [
      () => contents.listRows(caller, id, { ...page, cursor, refused: true }),
      () => contents.listChanges(caller, id, { limit: 2, cursor }),
      () => contents.listRows(caller, other, { ...page, cursor }),
    ]) {
      await expect(request()).rejects.toBeInstanceOf(InvalidCursor);
    }
  });

  it('exports every refused row of a large file with escaped formulas', async () => {
    await insertRows(1_001);
    await insertRows(1, { from: 1_001, annotation: 'create' });
    await insertRows(1, { from: 1_002, cells: ['=1+1', 'Bonn'], annotation: 'conflict' });
    const lines = await errorsOf();
    expect(lines).toHaveLength(1 + 1_002);
    expect(lines[0]).toBe('\uFEFFName,City,import_line,error_code,error');
    expect(lines[1]).toBe('Acme,,2,invalid,no city');
    expect(lines.at(-1)).toBe(`'=1+1,Bonn,1004,conflict,no city`);
  });

  describe.each(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'])('the export of %j', (start) => {
    const formula = `${start}cmd|' /C calc'!A0`;
    const exported = async () => parse(Buffer.from((await errorsOf()).join('\n')), { bom: true });

    it('escapes it at the start of a cell, and in no other position', async () => {
      await insertRows(1, { cells: [formula, `1 ${formula}`] });
      expect((await exported())[1]).toEqual([`'${formula}`, `1 ${formula}`, '2', 'invalid', 'no city']);
    });

    it('escapes it at the start of the name of a column', async () => {
      await database.admin.query('UPDATE import_run SET columns = $2 WHERE id = $1', [
        id,
        JSON.stringify([formula, `City ${start}`]),
      ]);
      expect((await exported())[0]).toEqual([`'${formula}`, `City ${start}`, 'import_line', 'error_code', 'error']);
    });
  });

  it('shows nothing of a run to another partner', async () => {
    await insertRows(1);
    const stranger = partnerCaller(randomUUID());
    for (const request of [
      () => contents.listRows(stranger, id, page),
      () => contents.listChanges(stranger, id, { limit: 2 }),
      () => contents.exportErrors(stranger, id),
    ]) {
      await expect(request()).rejects.toBeInstanceOf(NotFoundError);
    }
  });
});
