import { Inject, Injectable, StreamableFile } from '@nestjs/common';
import { stringify } from 'csv-stringify';
import { pipeline, Readable } from 'node:stream';
import type { Caller } from '@rmm/access';
import { Cursors } from '@rmm/persistence';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import type { ImportChangesDto } from './dto/import-change.dto.js';
import type { ImportRunRowsDto, ListImportChangesDto, ListImportRowsDto } from './dto/import-run-row.dto.js';
import { ImportChangesRepository } from './import-changes.repository.js';
import { toRowDto } from './import-run-row.mapper.js';
import { ImportRunRowsRepository } from './import-run-rows.repository.js';
import type { ImportRun } from './import-run.entity.js';
import { ImportRunsRepository } from './import-runs.repository.js';
import type { JournalScope } from './journal/import-change.types.js';

const ERROR_PAGE = 1_000;

/** Lists the rows and the changes of a run, and exports its refused rows. */
@Injectable()
export class ImportRunContentsService {
  private readonly cursors: Cursors;

  constructor(
    private readonly runs: ImportRunsRepository,
    private readonly rows: ImportRunRowsRepository,
    private readonly changes: ImportChangesRepository,
    @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>,
  ) {
    this.cursors = Cursors.derive(config.secrets.keyRing, 'import run');
  }

  /** Lists one page in the order of the file. @throws NotFoundError, InvalidCursor */
  async listRows(caller: Caller, id: string, query: ListImportRowsDto): Promise<ImportRunRowsDto> {
    const { limit, cursor, annotation, result, refused } = query;
    const run = await this.runs.get(caller, id);
    const binding = { caller, list: 'import-rows', filters: { id, annotation, result, refused } };
    const after = cursor ? Number(this.cursors.decode(cursor, binding, 'index')[0]) : -1;
    const filter = { annotation, result, isRefused: refused };
    const request = { ...filter, after, limit: limit + 1 };
    const { rows: found, truncated } = await this.rows.listInOrder(caller, scopeOf(run), request);
    const page = found.slice(0, limit);
    const last = truncated || found.length > limit ? page.at(-1) : undefined;
    const nextCursor = last ? this.cursors.encode([String(last.index)], binding, 'index') : null;
    return { data: page.map((row) => toRowDto(run, row)), pagination: { limit, nextCursor } };
  }

  /** Lists what a run changed, and what became of it when it was undone. @throws NotFoundError, InvalidCursor */
  async listChanges(caller: Caller, id: string, query: ListImportChangesDto): Promise<ImportChangesDto> {
    const { limit, cursor, outcome } = query;
    const run = await this.runs.get(caller, id);
    const binding = { caller, list: 'import-changes', filters: { id, outcome } };
    const after = cursor ? (this.cursors.decode(cursor, binding, 'seq')[0] ?? '0') : '0';
    const found = await this.changes.list(caller, scopeOf(run), { after, limit: limit + 1, outcome });
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    const nextCursor = last ? this.cursors.encode([last.seq], binding, 'seq') : null;
    return { data: page.map(({ seq: _, ...change }) => change), pagination: { limit, nextCursor } };
  }

  /**
   * Exports the refused rows as CSV with their original columns, the line, and the code and text of the error. Cells that a
   * spreadsheet would run as formulas are escaped.
   * @throws NotFoundError
   */
  async exportErrors(caller: Caller, id: string): Promise<StreamableFile> {
    const run = await this.runs.get(caller, id);
    const columns = run.columns ?? [];
    const csv = stringify({ bom: true, escape_formulas: true, cast: { string: escapeLineFeed } });
    const lines = this.errorLines(caller, run, columns);
    pipeline(Readable.from(lines), csv, () => undefined);
    return new StreamableFile(csv, {
      type: 'text/csv; charset=utf-8',
      disposition: `attachment; filename="import-${id}-errors.csv"`,
    });
  }

  private async *errorLines(caller: Caller, run: ImportRun, columns: readonly string[]): AsyncGenerator<string[]> {
    yield [...columns, 'import_line', 'error_code', 'error'];
    for (let after = -1; ;) {
      const request = { after, limit: ERROR_PAGE, isRefused: true };
      const { rows } = await this.rows.listInOrder(caller, scopeOf(run), request);
      for (const { cells, line, code, annotation, reason } of rows) {
        const padded = columns.map((_, at) => cells[at] ?? '');
        yield [...padded, String(line), code ?? annotation ?? '', reason ?? ''];
      }
      const last = rows.at(-1);
      if (!last) return;
      after = last.index;
    }
  }
}

/** The guard of csv-stringify leaves out line feeds, which a spreadsheet may skip. */
const escapeLineFeed = (text: string): string => (text.startsWith('\n') ? `'${text}` : text);

const scopeOf = ({ id, partnerId }: ImportRun): JournalScope => ({ runId: id, partnerId });
