import type { Readable } from 'node:stream';
import { ImportRunFailed } from '../import-run.errors.js';
import { checkZip } from './check-zip.js';
import type { FileRow } from './file-row.js';
import { readWorksheet, type WorkbookParts } from './read-worksheet.js';
import { readXml } from './read-xml.js';
import { RichText } from './rich-text.js';
import { listZipEntries, malformedXlsx, unpack, type ZipEntry } from './zip-entries.js';

const SHEET = /^xl\/worksheets\/sheet\d+\.xml$/;

/** The parsers of exceljs for single parts, and what they have read. */
interface PartParsers {
  _parseWorkbook(part: Readable): Promise<void>;
  _parseStyles(part: Readable): Promise<void>;
  properties?: { model?: { date1904?: boolean } };
  styles: { getStyleModel(style: number): { numFmt?: string } | null };
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
    for await (const row of readSheet(entries)) if (row.cells.some((cell) => cell !== '')) yield row;
  } catch (error) {
    throw error instanceof ImportRunFailed ? error : malformedXlsx();
  }
}

/**
 * Reads the parts one by one, the table of texts before the worksheet. The readers of exceljs are used for the workbook and
 * its styles alone. That of archives follows local headers, unpacks a worksheet that precedes the texts to a temporary file,
 * may miss the last parts of a small file, and breaks a character that two chunks share; those of texts and worksheets mix
 * up runs of rich text with their phonetic readings, and end quietly where a part ends early.
 */
async function* readSheet(entries: readonly ZipEntry[]): AsyncGenerator<FileRow> {
  const sheet = entries.find(({ name }) => SHEET.test(name));
  if (!sheet) return;
  const text = (entry: ZipEntry) => unpack(entry).setEncoding('utf8');
  const find = (name: string) => entries.find((entry) => entry.name === name);
  const [workbook, styles, texts] = ['xl/workbook.xml', 'xl/styles.xml', 'xl/sharedstrings.xml'].map(find);
  const parsers = await createParsers();
  if (workbook) await parsers._parseWorkbook(text(workbook));
  if (styles) await parsers._parseStyles(text(styles));
  const table = texts ? await readTexts(text(texts)) : [];
  const toDate = styles ? await dateReader(parsers) : () => null;
  yield* readWorksheet(text(sheet), { texts: table, toDate });
}

/** Reads the table of texts without their formats, which would need several times the memory. */
async function readTexts(part: AsyncIterable<string>): Promise<string[]> {
  const texts: string[] = [];
  let richText = new RichText();
  for await (const events of readXml(part)) {
    for (const event of events) {
      if (event.type === 'start' && event.name === 'si') richText = new RichText();
      else if (event.type === 'end' && event.name === 'si') texts.push(richText.text);
      else richText.add(event);
    }
  }
  return texts;
}

async function createParsers(): Promise<PartParsers> {
  const { stream } = (await import('exceljs')).default; // 670 modules, which only this needs
  return new stream.xlsx.WorkbookReader('', { styles: 'cache' }) as unknown as PartParsers;
}

/** Returns the reader of dates, which are numbers in cells of a style for dates. */
async function dateReader({ styles, properties }: PartParsers): Promise<WorkbookParts['toDate']> {
  const dates = (await import('exceljs/lib/utils/utils.js')).default;
  const areDates = new Map<number, boolean>();
  return (value, style) => {
    let isDate = areDates.get(style);
    if (isDate === undefined) areDates.set(style, (isDate = dates.isDateFmt(styles.getStyleModel(style)?.numFmt)));
    return isDate ? dates.excelToDate(value, properties?.model?.date1904) : null;
  };
}
