import { ImportRunFailed } from '../import-run.errors.js';
import type { FileRow } from './file-row.js';
import { FILE_LIMITS } from './file.limits.js';
import { readXml, type XmlEvent } from './read-xml.js';
import { RichText } from './rich-text.js';
import { malformedXlsx } from './zip-entries.js';

/** The parts of a workbook that its cells refer to. */
export interface WorkbookParts {
  texts: readonly string[];
  /** Returns the date of a number in a cell of a style; null when the style is not of dates. */
  toDate: (value: number, style: number) => Date | null;
}

interface OpenCell {
  column: number;
  type: string | undefined;
  style: number;
  value: string | null;
  richText: RichText | null;
}

/** With the character by which a longer text is recognized. */
const MAX_TEXT = FILE_LIMITS.cellCharacters + 1;
const REFERENCE = /^([A-Z]{1,3})[0-9]+$/;

/** Yields the rows of a worksheet with the text of their cells, of a formula its stored result. @throws ImportRunFailed */
export async function* readWorksheet(part: AsyncIterable<string>, parts: WorkbookParts): AsyncGenerator<FileRow> {
  const reader = new WorksheetReader(parts);
  for await (const events of readXml(part)) {
    for (const event of events) {
      const row = reader.read(event);
      if (row) yield row;
    }
  }
}

/** Reads the elements of a worksheet one after the other. */
class WorksheetReader {
  private isInRows = false;
  private row: FileRow | null = null;
  private line = 0;
  private column = 0;
  private cell: OpenCell | null = null;
  private isInValue = false;

  constructor(private readonly parts: WorkbookParts) {}

  /** @returns the row that ends */
  read(event: XmlEvent): FileRow | null {
    if (event.type !== 'text' && event.name === 'sheetData') this.isInRows = event.type === 'start';
    if (!this.isInRows) return null;
    if (this.cell) this.readCell(this.cell, event);
    else if (event.type === 'start') this.start(event.name, event.attributes);
    else if (event.type === 'end' && event.name === 'row') return this.endRow();
    return null;
  }

  private start(name: string, { r: reference, t: type, s: style }: Record<string, string | undefined>): void {
    if (name === 'row') {
      this.line = Number.parseInt(reference ?? '', 10) || this.line + 1;
      this.column = 0;
      this.row = { line: this.line, cells: [] };
    } else if (name === 'c' && this.row) {
      this.column = reference === undefined ? this.column + 1 : toColumn(reference);
      assertColumn(this.column);
      this.cell = { column: this.column, type, style: Number(style ?? 0), value: null, richText: null };
    }
  }

  private readCell(cell: OpenCell, event: XmlEvent): void {
    if (event.type === 'end' && event.name === 'c') return this.endCell(cell);
    if (event.type === 'text') {
      if (this.isInValue) cell.value = ((cell.value ?? '') + event.text).slice(0, MAX_TEXT);
    } else if (event.name === 'v') this.isInValue = event.type === 'start';
    else if (event.name === 'is' && event.type === 'start') cell.richText = new RichText(MAX_TEXT);
    cell.richText?.add(event);
  }

  private endCell(cell: OpenCell): void {
    if (this.row) this.row.cells[cell.column - 1] = this.toText(cell);
    this.cell = null;
  }

  private endRow(): FileRow | null {
    const { row } = this;
    this.row = null;
    return row && { line: row.line, cells: Array.from(row.cells, (cell) => cell ?? '') };
  }

  private toText({ type, style, value, richText }: OpenCell): string {
    if (richText) return richText.text;
    if (value === null || type === 'e') return '';
    if (type === 'str' || type === 'inlineStr' || type === 'd') return value;
    if (type === 's') return this.parts.texts[Number.parseInt(value, 10)] ?? '';
    const number = Number.parseFloat(value);
    if (Number.isNaN(number)) return '';
    if (type === 'b') return String(number !== 0);
    const date = this.parts.toDate(number, style);
    if (date === null) return String(number);
    return Number.isNaN(date.getTime()) ? '' : date.toISOString();
  }
}

/** Returns the number of the column: 27 for AA5. @throws ImportRunFailed */
function toColumn(reference: string): number {
  const letters = REFERENCE.exec(reference)?.[1];
  if (letters === undefined) throw malformedXlsx();
  return [...letters].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0);
}

function assertColumn(column: number): void {
  if (column <= FILE_LIMITS.columns) return;
  throw new ImportRunFailed('import_file_too_many_columns', `A file has at most ${FILE_LIMITS.columns} columns`);
}
