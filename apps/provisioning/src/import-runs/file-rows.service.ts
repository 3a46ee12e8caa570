import { Injectable } from '@nestjs/common';
import { parseContactRows, type ContactRow } from '../contacts/import/contact-rows.js';
import { parseImportRows, type ImportRow } from '../import/import-rows.js';
import type { ParsedRows } from '../import/row-reader.js';
import { missingFields, RowMapper } from './files/column-mapping.js';
import type { ImportKind, ImportRun } from './import-run.entity.js';
import type { RowPositions } from './row-positions.js';

/** A row of a file with its place in the import, or with the reason it has none. */
export interface RowState {
  index: number;
  position: number | null;
  annotation: 'invalid' | null;
  reason: string | null;
}

/** Cells of a row of a file. */
export interface FileCells {
  index: number;
  cells: readonly string[];
}

const MAX_REASON = 500;
const TOO_MANY_ROWS = 'The organization has more rows than can be imported together';

/** Reads rows of files by the mapping of their run, by the rules of the JSON imports. */
@Injectable()
export class FileRowsService {
  /** Reads organizations; each row has its index in the file. Invalid rows are left out. */
  async readOrganizations(run: ImportRun, rows: readonly (FileCells & { extra?: object })[]): Promise<ImportRow[]> {
    const parsed = await parseImportRows(toRequestRows(run, rows));
    return withIndexes(parsed, rows);
  }

  async readContacts(run: ImportRun, rows: readonly (FileCells & { extra?: object })[]): Promise<ContactRow[]> {
    const parsed = await parseContactRows(toRequestRows(run, rows));
    return withIndexes(parsed, rows);
  }

  /** Validates rows and assigns their positions. */
  async readStates(
    run: Pick<ImportRun, 'kind' | 'columns' | 'mapping'>,
    rows: readonly FileCells[],
    positions: RowPositions,
  ): Promise<RowState[]> {
    const { kind, columns, mapping } = run;
    if (missingFields(kind, mapping ?? {}).length > 0) {
      return rows.map(({ index }) => ({ index, position: null, annotation: null, reason: null }));
    }
    const requested = toRequestRows(run, rows);
    const parsed = kind === 'contacts' ? await parseContactRows(requested) : await parseImportRows(requested);
    const problems = problemsByRow(parsed.problems);
    return rows.map(({ index, cells }, at) => {
      const reason = raggedRow(cells, columns ?? []) ?? problems.get(at);
      if (reason !== undefined) return invalid(index, reason);
      const position = assignPosition(kind, { ...(parsed.rows[at] as ImportRow & ContactRow), index }, positions);
      return position === null ? invalid(index, TOO_MANY_ROWS) : { index, position, annotation: null, reason: null };
    });
  }
}

function assignPosition(kind: ImportKind, row: ImportRow & ContactRow, positions: RowPositions): number | null {
  return kind === 'contacts' ? positions.assignContact(row) : positions.assignOrganization(row);
}

const invalid = (index: number, reason: string): RowState => {
  return { index, position: null, annotation: 'invalid', reason: reason.slice(0, MAX_REASON) };
};

function raggedRow(cells: readonly string[], columns: readonly string[]): string | undefined {
  const extra = cells.slice(columns.length).some((cell) => cell.trim() !== '');
  return extra ? `The row has ${cells.length} cells, the header has ${columns.length}` : undefined;
}

function toRequestRows(
  { kind, columns, mapping }: Pick<ImportRun, 'kind' | 'columns' | 'mapping'>,
  rows: readonly (FileCells & { extra?: object })[],
): object[] {
  const mapper = new RowMapper(kind, columns ?? [], mapping ?? {});
  return rows.map(({ cells, extra }) => ({ ...mapper.toRow(cells), ...extra }));
}

/** Returns the texts of the problems of each row: `rows.3.contact.email` is one of row 3. */
function problemsByRow(problems: ParsedRows<unknown>['problems']): Map<number, string> {
  const texts = new Map<number, string[]>();
  for (const [path, found] of Object.entries(problems)) {
    const [, index, ...field] = path.split('.');
    const list = texts.get(Number(index)) ?? [];
    list.push(`${field.join('.')} ${found.join(', ')}`);
    texts.set(Number(index), list);
  }
  return new Map([...texts].map(([index, list]) => [index, list.join('; ')]));
}

function withIndexes<Row extends { index: number }>(parsed: ParsedRows<Row>, rows: readonly FileCells[]): Row[] {
  const problems = problemsByRow(parsed.problems);
  return parsed.rows.flatMap((row, at) => (problems.has(at) ? [] : { ...row, index: rows[at]?.index ?? at }));
}
