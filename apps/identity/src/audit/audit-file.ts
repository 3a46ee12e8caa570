import { stringify } from 'csv-stringify/sync';
import type { AuditLogDto } from './dto/audit-log.dto.js';

export const AUDIT_FORMATS = ['csv', 'ndjson'] as const;
export type AuditFormat = (typeof AUDIT_FORMATS)[number];

/** A file format of exported entries. */
export interface AuditFile {
  mediaType: string;
  /** The text before the first entry. */
  header: string;
  format: (entries: readonly AuditLogDto[]) => string;
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

/**
 * A spreadsheet interprets a cell that begins with these as a formula, also in their full-width forms. The guard of
 * csv-stringify leaves out line feeds.
 */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/** Formats rows by RFC 4180; objects as JSON, null as an empty cell. A cell that is a formula gets a leading quote. */
export const formatCsv = (rows: readonly (readonly unknown[])[]): string =>
  stringify(
    rows.map((cells) => cells.map(toCell)),
    { record_delimiter: '\r\n', quoted_match: /[\r\n]/ },
  );

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return FORMULA.test(text) ? `'${text}` : text;
}

export const AUDIT_FILES: Readonly<Record<AuditFormat, AuditFile>> = {
  csv: {
    mediaType: 'text/csv; charset=utf-8',
    header: formatCsv([COLUMNS]),
    format: (entries) => formatCsv(entries.map((entry) => COLUMNS.map((column) => entry[column]))),
  },
  ndjson: {
    mediaType: 'application/x-ndjson',
    header: '',
    format: (entries) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''),
  },
};
