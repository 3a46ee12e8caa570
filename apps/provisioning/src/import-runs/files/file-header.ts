import { ImportRunFailed } from '../import-run.errors.js';
import { FILE_LIMITS } from './file.limits.js';
import { toStorable } from './storable-text.js';

const MAX_NAME = 255;

/**
 * Returns the names of the columns; those without a name are named by their number.
 * @throws ImportRunFailed  for too many columns or two of one name
 */
export function readHeader(cells: readonly string[]): string[] {
  if (cells.length > FILE_LIMITS.columns) {
    throw new ImportRunFailed('import_file_too_many_columns', `A file has at most ${FILE_LIMITS.columns} columns`);
  }
  const columns = cells.map((cell, at) => toName(cell) || `Column ${at + 1}`);
  const seen = new Set<string>();
  for (const column of columns) {
    if (seen.has(column)) {
      throw new ImportRunFailed('import_file_duplicate_column', `The header has the column "${column}" twice`);
    }
    seen.add(column);
  }
  return columns;
}

const toName = (cell: string): string => toStorable(cell).trim().slice(0, MAX_NAME);
