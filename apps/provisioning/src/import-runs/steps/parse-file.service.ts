import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase } from '@rmm/persistence';
import { FileRowsService } from '../file-rows.service.js';
import { guessMapping, missingFields, type ColumnMapping } from '../files/column-mapping.js';
import { detectFormat } from '../files/file-format.js';
import { readHeader } from '../files/file-header.js';
import type { FileRow } from '../files/file-row.js';
import { FILE_LIMITS } from '../files/file.limits.js';
import { ImportFilesRepository } from '../files/import-files.repository.js';
import { readCsv } from '../files/read-csv.js';
import { readXlsx } from '../files/read-xlsx.js';
import { toStorable } from '../files/storable-text.js';
import { ImportRunRowsRepository, type NewRow } from '../import-run-rows.repository.js';
import { ImportRunFailed } from '../import-run.errors.js';
import { ImportRunsRepository, type LeasedRun } from '../import-runs.repository.js';
import { RowPositions } from '../row-positions.js';

const ROWS_PER_BATCH = 1_000;
/** A batch ends with the row that reaches it. */
const CHARACTERS_PER_BATCH = 2_000_000;

/** The columns of a file and the fields they are read for. */
interface FileColumns {
  columns: string[];
  mapping: ColumnMapping;
}

/** A row with cells that PostgreSQL can store, and the problem of those that it cannot. */
interface StorableRow extends FileRow {
  problem: string | null;
  characters: number;
}

interface FileCounts {
  total: number;
  invalid: number;
  characters: number;
}

/** Stores the rows of an uploaded file. When a process dies in between, another one reads the file from its start. */
@Injectable()
export class ParseFileService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly runs: ImportRunsRepository,
    private readonly rows: ImportRunRowsRepository,
    private readonly files: ImportFilesRepository,
    private readonly fileRows: FileRowsService,
  ) {}

  /**
   * Reads the whole file; each batch extends the lease.
   * @returns whether its rows can be annotated
   * @throws ImportRunFailed
   */
  async runChunk(caller: UserCaller, run: LeasedRun): Promise<boolean> {
    const scope = { runId: run.id, partnerId: run.partnerId };
    await this.tenants.transaction(caller, async (tx) => {
      await this.rows.deleteAll(tx, scope);
      await this.runs.advance(tx, run, { total: 0 });
    });
    const positions = new RowPositions();
    const counts: FileCounts = { total: 0, invalid: 0, characters: 0 };
    let header: FileColumns | null = null;
    let batch: StorableRow[] = [];
    let charactersBefore = 0;
    let inserted: Promise<void> = Promise.resolve();
    let stored: Promise<void> = Promise.resolve();
    const store = async (columns: FileColumns, rowsOfBatch: readonly StorableRow[]) => {
      const rows = await this.readBatch(caller, { ...run, ...columns }, rowsOfBatch, counts, positions);
      await inserted;
      inserted = this.insert(caller, run, rows, counts.total);
      inserted.catch(() => undefined); // the next batch, or the end, awaits it
    };
    const startStoring = async (columns: FileColumns) => {
      await stored;
      stored = store(columns, batch);
      stored.catch(() => undefined); // likewise
      [batch, charactersBefore] = [[], counts.characters];
    };
    for await (const row of await this.open(caller, run)) {
      if (header === null) {
        header = toColumns(run, row);
        continue;
      }
      batch.push(countRow(counts, toStorableRow(row)));
      const isFull = batch.length === ROWS_PER_BATCH || counts.characters - charactersBefore >= CHARACTERS_PER_BATCH;
      if (isFull) await startStoring(header);
    }
    if (header !== null) await startStoring(header);
    await stored;
    await inserted;
    if (header === null || counts.total === 0) throw new ImportRunFailed('import_file_empty', 'The file has no rows');
    return this.finish(caller, run, header, counts);
  }

  private async open(caller: UserCaller, run: LeasedRun): Promise<AsyncGenerator<FileRow>> {
    const open = () => this.files.read(caller, { runId: run.id, partnerId: run.partnerId });
    const first = await open().next();
    const start = first.done ? Buffer.alloc(0) : first.value;
    return detectFormat(start) === 'xlsx' ? readXlsx(open) : readCsv(open);
  }

  /** Validates the rows of a batch and adds them to the counts. @throws ImportRunFailed */
  private async readBatch(
    caller: UserCaller,
    run: LeasedRun,
    batch: readonly StorableRow[],
    counts: FileCounts,
    positions: RowPositions,
  ): Promise<NewRow[]> {
    if (counts.total + batch.length > FILE_LIMITS.rows) {
      throw new ImportRunFailed('import_file_too_many_rows', `A file has at most ${FILE_LIMITS.rows} rows`);
    }
    const staged = batch.map(({ line, cells, problem }, at) => ({ line, cells, problem, index: counts.total + at }));
    const states = await this.fileRows.readStates(caller, run, staged, positions);
    const rows = staged.map((row, at) => {
      const { position, annotation, reason } = states[at] ?? { position: null, annotation: null, reason: null };
      const { index, line, cells, problem } = row;
      if (problem === null) return { index, line, cells, position, annotation, reason };
      return { index, line, cells, position: null, annotation: 'invalid', reason: problem };
    });
    counts.total += rows.length;
    counts.invalid += rows.filter(({ annotation }) => annotation === 'invalid').length;
    return rows;
  }

  private insert(caller: UserCaller, run: LeasedRun, rows: readonly NewRow[], total: number): Promise<void> {
    return this.tenants.transaction(caller, async (tx) => {
      await this.rows.insert(tx, { runId: run.id, partnerId: run.partnerId }, rows);
      await this.runs.advance(tx, run, { total, done: rows.length });
    });
  }

  /** Deletes the file, whose rows are stored. */
  private async finish(
    caller: UserCaller,
    run: LeasedRun,
    header: FileColumns,
    { total, invalid }: FileCounts,
  ): Promise<boolean> {
    const canAnnotate = missingFields(run.kind, header.mapping).length === 0;
    const annotations: Record<string, number> = invalid > 0 ? { invalid } : {};
    await this.tenants.transaction(caller, async (tx) => {
      await this.files.delete(tx, { runId: run.id, partnerId: run.partnerId });
      const state = canAnnotate ? 'annotating' : 'ready';
      await this.runs.advance(tx, run, { ...header, state, total, annotations, progress: { position: -1 } });
    });
    return canAnnotate;
  }
}

/** @throws ImportRunFailed */
function toColumns({ kind, mapping: given }: LeasedRun, row: FileRow): FileColumns {
  const columns = readHeader(row.cells);
  const mapping = given ?? guessMapping(kind, columns);
  const missing = Object.values(mapping).find((column) => !columns.includes(column));
  if (missing === undefined) return { columns, mapping };
  throw new ImportRunFailed('import_column_unknown', `The file has no column "${missing}", which the mapping names`);
}

function toStorableRow({ line, cells }: FileRow): StorableRow {
  let [characters, problem]: [number, string | null] = [0, null];
  const stored = cells.map((cell) => {
    const text = toStorable(cell.slice(0, FILE_LIMITS.cellCharacters));
    if (text !== cell) problem = 'A cell is too long or has characters that are not text';
    characters += text.length;
    return text;
  });
  return { line, cells: stored, problem, characters };
}

/** Adds the characters of a row to those before it. @throws ImportRunFailed */
function countRow(counts: FileCounts, row: StorableRow): StorableRow {
  counts.characters += row.characters;
  if (row.characters > FILE_LIMITS.recordCharacters) {
    const limit = FILE_LIMITS.recordCharacters.toLocaleString('en');
    throw new ImportRunFailed(
      'import_file_too_large',
      `Line ${row.line} of the file has more than ${limit} characters`,
    );
  }
  if (counts.characters > FILE_LIMITS.characters) {
    const limit = FILE_LIMITS.characters.toLocaleString('en');
    throw new ImportRunFailed('import_file_too_large', `The cells of a file have at most ${limit} characters`);
  }
  return row;
}
