import type ExcelJS from 'exceljs';
import { Readable } from 'node:stream';
import { ImportRunFailed } from '../import-run.errors.js';
import { checkZip } from './check-zip.js';
import { FILE_LIMITS } from './file-limits.js';
import type { FileRow } from './file-row.js';

/**
 * Yields the rows of the first worksheet, as they are shown: of a formula its stored result. Rows are read as a stream; the
 * packed file and its table of texts are in memory.
 * @throws ImportRunFailed
 */
export async function* readXlsx(open: () => AsyncIterable<Buffer>): AsyncGenerator<FileRow> {
  const parts: Buffer[] = [];
  for await (const part of open()) parts.push(part);
  const file = Buffer.concat(parts);
  await checkZip(file);
  const options = { worksheets: 'emit', sharedStrings: 'cache', hyperlinks: 'ignore', styles: 'cache' } as const;
  const { stream } = (await import('exceljs')).default; // 670 modules, which only this needs
  const workbook = new stream.xlsx.WorkbookReader(Readable.from(slices(file)), options);
  try {
    for await (const sheet of workbook) {
      for await (const row of sheet as AsyncIterable<ExcelJS.Row>) {
        const cells = readCells(row);
        if (cells.some((cell) => cell !== '')) yield { line: row.number, cells };
      }
      return;
    }
  } catch (error) {
    if (error instanceof ImportRunFailed) throw error;
    throw new ImportRunFailed('import_file_malformed', 'The file is not a valid XLSX file');
  }
}

function* slices(file: Buffer): Generator<Buffer> {
  for (let at = 0; at < file.length; at += 65_536) yield file.subarray(at, at + 65_536);
}

function readCells(row: ExcelJS.Row): string[] {
  if (row.cellCount > FILE_LIMITS.columns) {
    throw new ImportRunFailed('import_file_too_many_columns', `A file has at most ${FILE_LIMITS.columns} columns`);
  }
  const cells: string[] = [];
  row.eachCell({ includeEmpty: true }, ({ value }, column) => {
    cells[column - 1] = toText(value);
  });
  return Array.from(cells, (cell) => cell ?? '');
}

function toText(value: ExcelJS.CellValue | undefined): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString();
  if (typeof value !== 'object') return String(value);
  if ('richText' in value) return value.richText.map(({ text }) => text).join('');
  if ('text' in value) return toText(value.text);
  if ('result' in value) return toText(value.result);
  return '';
}
