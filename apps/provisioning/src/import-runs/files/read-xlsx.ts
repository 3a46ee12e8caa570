import type ExcelJS from 'exceljs';
import type { Readable } from 'node:stream';
import { ImportRunFailed } from '../import-run.errors.js';
import { checkZip } from './check-zip.js';
import { FILE_LIMITS } from './file-limits.js';
import type { FileRow } from './file-row.js';
import { listZipEntries, malformedXlsx, unpack, type ZipEntry } from './zip-entries.js';

const SHEET = /^xl\/worksheets\/sheet\d+\.xml$/;

/** The parsers of exceljs for single parts. */
interface PartParsers {
  sharedStrings?: string[];
  _parseWorkbook(part: Readable): Promise<void>;
  _parseStyles(part: Readable): Promise<void>;
  _parseSharedStrings(part: Readable): AsyncIterable<{ text: ExcelJS.CellValue }>;
  _parseWorksheet(part: Readable, number: string): Iterable<{ value: AsyncIterable<ExcelJS.Row> }>;
}

/**
 * Yields the rows of the first worksheet, as they are shown: of a formula its stored result. Rows are read as a stream; the
 * packed file and its table of texts are in memory.
 * @throws ImportRunFailed
 */
export async function* readXlsx(open: () => AsyncIterable<Buffer>): AsyncGenerator<FileRow> {
  const parts: Buffer[] = [];
  for await (const part of open()) parts.push(part);
  const entries = listZipEntries(Buffer.concat(parts));
  await checkZip(entries);
  try {
    for await (const row of readSheet(entries)) {
      const cells = readCells(row);
      if (cells.some((cell) => cell !== '')) yield { line: row.number, cells };
    }
  } catch (error) {
    throw error instanceof ImportRunFailed ? error : malformedXlsx();
  }
}

/**
 * Gives the parts to the parsers of exceljs one by one, the table of texts before the worksheet. Its reader of archives is
 * not used: it follows local headers, unpacks a worksheet that precedes the texts to a temporary file, may miss the last
 * parts of a small file, and breaks a character that two chunks share.
 */
async function* readSheet(entries: readonly ZipEntry[]): AsyncGenerator<ExcelJS.Row> {
  const sheet = entries.find(({ name }) => SHEET.test(name));
  if (!sheet) return;
  const text = (entry: ZipEntry) => unpack(entry).setEncoding('utf8');
  const find = (name: string) => entries.find((entry) => entry.name === name);
  const [workbook, styles, texts] = ['xl/workbook.xml', 'xl/styles.xml', 'xl/sharedstrings.xml'].map(find);
  const parsers = await createParsers();
  if (workbook) await parsers._parseWorkbook(text(workbook));
  if (styles) await parsers._parseStyles(text(styles));
  if (texts) parsers.sharedStrings = await readTexts(parsers._parseSharedStrings(text(texts)));
  for (const { value: rows } of parsers._parseWorksheet(text(sheet), '1')) yield* rows;
}

/** Reads the table of texts without their formats, which would need several times the memory. */
async function readTexts(table: AsyncIterable<{ text: ExcelJS.CellValue }>): Promise<string[]> {
  const texts: string[] = [];
  for await (const { text } of table) texts.push(toText(text));
  return texts;
}

async function createParsers(): Promise<PartParsers> {
  const options = { worksheets: 'emit', sharedStrings: 'emit', hyperlinks: 'ignore', styles: 'cache' } as const;
  const { stream } = (await import('exceljs')).default; // 670 modules, which only this needs
  return new stream.xlsx.WorkbookReader('', options) as unknown as PartParsers;
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
