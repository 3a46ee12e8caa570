import type { AuditLogDto } from './audit-log.dto.js';

export const AUDIT_FORMATS = ['csv', 'ndjson'] as const;
export type AuditFormat = (typeof AUDIT_FORMATS)[number];

/** How rows are written down. */
export interface AuditFile {
  mediaType: string;
  /** What stands before the first row. */
  header: string;
  line: (row: AuditLogDto) => string;
}

const COLUMNS = [
  'id',
  'sequence',
  'partnerId',
  'orgId',
  'timestamp',
  'actorType',
  'actorId',
  'actorEmail',
  'action',
  'resourceType',
  'resourceId',
  'resourceName',
  'details',
  'ipAddress',
  'userAgent',
  'result',
  'errorMessage',
  'initiatedBy',
  'requestId',
  'checksum',
  'previousChecksum',
] as const satisfies readonly (keyof AuditLogDto)[];

/** A spreadsheet takes a cell that begins so for a formula, also in the wide forms of the signs. @see CONTRACT.md 9 */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;
const NEEDS_QUOTES = /[",\r\n]/;

/** One cell by RFC 4180; objects as JSON, null as nothing. */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const plain = typeof value === 'string' ? value : JSON.stringify(value);
  const text = FORMULA.test(plain) ? `'${plain}` : plain;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csvLine = (cells: readonly unknown[]): string => `${cells.map(csvCell).join(',')}\r\n`;

export const AUDIT_FILES: Readonly<Record<AuditFormat, AuditFile>> = {
  csv: {
    mediaType: 'text/csv; charset=utf-8',
    header: csvLine(COLUMNS),
    line: (row) => csvLine(COLUMNS.map((column) => row[column])),
  },
  ndjson: {
    mediaType: 'application/x-ndjson',
    header: '',
    line: (row) => `${JSON.stringify(row)}\n`,
  },
};
