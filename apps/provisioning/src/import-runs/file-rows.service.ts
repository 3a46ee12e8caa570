import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { parseContactRows, type ContactRow } from '../contacts/import/contact-rows.js';
import { linkKey } from '../import/import-plan.policy.js';
import { parseImportRows, type ImportRow } from '../import/import-rows.js';
import type { ParsedRows } from '../import/row-reader.js';
import { missingFields, RowMapper } from './files/column-mapping.js';
import type { ImportKind, ImportRun } from './import-run.entity.js';
import { RowOrganizationsRepository } from './row-organizations.repository.js';
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

/** Cells of a row, and fields that no column has. */
export type GivenCells = FileCells & { extra?: object };

/** Rows that were read by the kind of their run. */
export type ReadRows = { kind: 'organizations'; rows: ImportRow[] } | { kind: 'contacts'; rows: ContactRow[] };

/** A row of either kind. */
type GivenRow = ImportRow & ContactRow;

const MAX_REASON = 500;
const TOO_MANY_ROWS = 'The organization has more rows than can be imported together';

/** Reads rows of files by the mapping of their run, by the rules of the JSON imports. */
@Injectable()
export class FileRowsService {
  constructor(private readonly storedOrganizations: RowOrganizationsRepository) {}

  /** Reads rows; each has its index in the file. Invalid rows are left out. */
  async read(run: Pick<ImportRun, 'kind' | 'columns' | 'mapping'>, rows: readonly GivenCells[]): Promise<ReadRows> {
    const requested = toRequestRows(run, rows);
    return run.kind === 'contacts'
      ? { kind: 'contacts', rows: withIndexes(await parseContactRows(requested), rows) }
      : { kind: 'organizations', rows: withIndexes(await parseImportRows(requested), rows) };
  }

  /** Validates rows and assigns their positions. */
  async readStates(
    caller: UserCaller,
    run: Pick<ImportRun, 'partnerId' | 'kind' | 'columns' | 'mapping'>,
    rows: readonly FileCells[],
    positions: RowPositions,
  ): Promise<RowState[]> {
    const { kind, columns, mapping } = run;
    if (missingFields(kind, mapping ?? {}).length > 0) {
      return rows.map(({ index }) => ({ index, position: null, annotation: null, reason: null }));
    }
    const requested = toRequestRows(run, rows);
    const parsed = kind === 'contacts' ? await parseContactRows(requested) : await parseImportRows(requested);
    const given = parsed.rows as GivenRow[];
    const problems = problemsByRow(parsed.problems);
    const names = await this.findStoredNames(
      caller,
      run,
      given.filter((_, at) => !problems.has(at)),
    );
    return rows.map(({ index, cells }, at) => {
      const reason = raggedRow(cells, columns ?? []) ?? problems.get(at);
      if (reason !== undefined) return invalid(index, reason);
      const position = assignPosition(kind, { ...given[at], index }, names, positions);
      return position === null ? invalid(index, TOO_MANY_ROWS) : { index, position, annotation: null, reason: null };
    });
  }

  /** Returns the keys of the stored names of the organizations that rows refer to by an id. */
  private findStoredNames(
    caller: UserCaller,
    { kind, partnerId }: Pick<ImportRun, 'partnerId' | 'kind'>,
    rows: readonly GivenRow[],
  ): Promise<Map<string, string>> {
    if (kind === 'contacts') {
      const ids = new Set(rows.flatMap(({ organizationId }) => organizationId ?? []));
      return this.storedOrganizations.findNamesById(caller, partnerId, [...ids]);
    }
    const identities = rows.flatMap(({ externalSystem: system, externalId }) =>
      externalId === null ? [] : { system, externalId },
    );
    return this.storedOrganizations.findNamesByLink(caller, partnerId, identities);
  }
}

function assignPosition(
  kind: ImportKind,
  row: GivenRow,
  names: ReadonlyMap<string, string>,
  positions: RowPositions,
): number | null {
  if (kind === 'contacts') return positions.assignContact(row, names.get(row.organizationId ?? ''));
  return positions.assignOrganization(row, names.get(linkKey(row.externalSystem, row.externalId ?? '')));
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
  rows: readonly GivenCells[],
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
