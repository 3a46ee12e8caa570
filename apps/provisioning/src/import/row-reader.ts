import { isUUID } from 'class-validator';
import { forEachYielding, ValidationError } from '@rmm/service-kit';
import { isStorableText } from '@rmm/validation';
import { trimName } from '../organizations/name-key.js';

export interface UnknownColumn {
  code: 'unknown-column';
  column: string;
  /** Indexes of the rows that have it. */
  rows: number[];
}

export interface ParsedRows<Row> {
  rows: Row[];
  warnings: UnknownColumn[];
  /** Field errors by path (`rows.3.timezone`); empty when every row is valid. */
  problems: Record<string, string[]>;
}

export const MAX_IMPORT_ROWS = 1_000;
const MAX_NESTING = 32;
const MAX_COLUMN_NAME = 100;
// eslint-disable-next-line no-control-regex -- control characters are refused
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/;

function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth < MAX_NESTING && Object.values(value).every((item) => isShallow(item, depth + 1));
}

/** Reads the fields of one row of an import and collects their problems. */
export class RowReader {
  constructor(
    protected readonly row: Record<string, unknown>,
    private readonly path: string,
    private readonly problems: Record<string, string[]>,
    private readonly knownColumns: ReadonlySet<string>,
  ) {}

  text(field: string, max: number): string | null {
    return this.line(this.row[field], field, max);
  }

  /** A reference to another system, which is compared as it was sent. */
  reference(field: string, max: number): string | null {
    return this.line(this.row[field], field, max, (text) => text.trim());
  }

  name(field: string, max: number): string {
    const value = this.text(field, max);
    if (value === null && !this.isRefused(field)) this.refuse(field, 'must not be empty');
    return value ?? '';
  }

  /** Other columns are ignored, but returned by a preview: nesting would overflow the writer of the response. */
  unknownColumns(): string[] {
    const names = Object.keys(this.row).filter((name) => !this.knownColumns.has(name));
    for (const name of names) {
      if (!isShallow(this.row[name])) this.refuse(name.slice(0, MAX_COLUMN_NAME), 'must not be nested so deeply');
    }
    return names;
  }

  flag(field: string): boolean {
    const value = this.row[field] ?? false;
    if (typeof value !== 'boolean') this.refuse(field, 'must be true or false');
    return value === true;
  }

  uuid(field: string): string | null {
    const value = this.text(field, 64);
    if (value !== null && !isUUID(value)) this.refuse(field, 'must be a UUID');
    return value?.toLowerCase() ?? null;
  }

  word<W extends string>(field: string, words: readonly W[]): W | null {
    const value = this.text(field, 64);
    if (value === null || (words as readonly string[]).includes(value)) return value as W | null;
    this.refuse(field, `must be one of ${words.join(', ')}`);
    return null;
  }

  protected details<K extends string>(field: string, limits: Record<K, number>): Partial<Record<K, string | null>> {
    const value = this.row[field] ?? null;
    if (value === null) return {};
    if (typeof value !== 'object' || Array.isArray(value)) {
      this.refuse(field, 'must be an object');
      return {};
    }
    const given = value as Record<string, unknown>;
    const lines = Object.entries(limits) as [K, number][];
    return Object.fromEntries(
      lines.map(([key, max]) => [key, this.line(given[key], `${field}.${key}`, max)]),
    ) as Partial<Record<K, string | null>>;
  }

  /** Lengths are those of the text that is stored, after normalization. */
  protected line(value: unknown, field: string, max: number, normalize = trimName): string | null {
    if (value === undefined || value === null) return null;
    if (typeof value !== 'string') {
      this.refuse(field, 'must be a string');
      return null;
    }
    const text = normalize(value);
    if (text.length > max) this.refuse(field, `must be at most ${max} characters`);
    if (CONTROL_CHARACTERS.test(text)) this.refuse(field, 'must not contain control characters');
    else if (!isStorableText(text)) this.refuse(field, 'must not contain half of a surrogate pair');
    return text === '' ? null : text;
  }

  protected isRefused(field: string): boolean {
    return Object.hasOwn(this.problems, `${this.path}.${field}`);
  }

  protected refuse(field: string, text: string): void {
    (this.problems[`${this.path}.${field}`] ??= []).push(text);
  }
}

/**
 * Validates the rows of an import without blocking the event loop. Unknown columns are ignored and reported as warnings; a
 * malformed field is a problem for which the whole request is refused.
 * @param create  creates the reader of a row
 * @param read  returns the row that the reader reads
 */
export async function parseRows<Reader extends RowReader, Row>(
  given: readonly unknown[],
  create: (row: Record<string, unknown>, path: string, problems: Record<string, string[]>) => Reader,
  read: (reader: Reader, index: number) => Row,
): Promise<ParsedRows<Row>> {
  const problems: Record<string, string[]> = {};
  const unknown = new Map<string, number[]>();
  const rows: Row[] = [];
  await forEachYielding(given, (row, index) => {
    if (typeof row !== 'object' || row === null || Array.isArray(row)) {
      problems[`rows.${index}`] = ['must be an object'];
      return;
    }
    const reader = create(row as Record<string, unknown>, `rows.${index}`, problems);
    for (const column of reader.unknownColumns()) {
      const seen = unknown.get(column);
      if (seen) seen.push(index);
      else unknown.set(column, [index]);
    }
    rows.push(read(reader, index));
  });
  const warnings = [...unknown].map(([column, indexes]): UnknownColumn => ({
    code: 'unknown-column',
    column,
    rows: indexes,
  }));
  return { rows, warnings, problems };
}

/** @throws ValidationError  with the problems of all rows */
export async function acceptRows<Row>(parsed: Promise<ParsedRows<Row>>): Promise<Omit<ParsedRows<Row>, 'problems'>> {
  const { problems, ...accepted } = await parsed;
  if (Object.keys(problems).length > 0) throw new ValidationError(undefined, { fieldErrors: problems });
  return accepted;
}
