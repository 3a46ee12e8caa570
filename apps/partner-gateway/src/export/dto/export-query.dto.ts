import { isUuid, parseIsoDateTime } from '@rmm/validation';
import { InvalidExportCursor, InvalidExportPagination, InvalidExportQuery } from '../export.errors.js';

/** A validated query; absent parameters are null. */
export interface ExportQuery {
  orgId: string | null;
  siteId: string | null;
  /** UTC, milliseconds. */
  updatedSince: string | null;
  cursor: string | null;
  limit: number;
}

export const MAX_LIMIT = 500;
const MAX_CURSOR_CHARACTERS = 4096;
const PARAMETERS = new Set(['orgId', 'updatedSince', 'cursor', 'limit']);

/**
 * Reads the query of a list strictly: an unknown parameter, or a known one twice, is refused rather than ignored.
 * @throws InvalidExportQuery, InvalidExportPagination, InvalidExportCursor
 * @see docs/reference/partner-interface.md
 */
export function readExportQuery(
  raw: Readonly<Record<string, unknown>>,
  { defaultLimit, hasSites }: { defaultLimit: number; hasSites?: boolean },
): ExportQuery {
  for (const [name, value] of Object.entries(raw)) {
    const isKnown = PARAMETERS.has(name) || (name === 'siteId' && hasSites === true);
    if (!isKnown) throw new InvalidExportQuery(`Unknown parameter ${JSON.stringify(name.slice(0, 64))}`);
    if (typeof value !== 'string') throw new InvalidExportQuery(`${name} must be given once`);
  }
  const given = raw as Readonly<Record<string, string | undefined>>;
  return {
    orgId: readId('orgId', given.orgId),
    siteId: readId('siteId', given.siteId),
    cursor: readCursor(given.cursor),
    updatedSince: readUpdatedSince(given.updatedSince),
    limit: readLimit(given.limit, defaultLimit),
  };
}

function readId(name: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  if (!isUuid(text)) throw new InvalidExportQuery(`${name} must be a UUID`);
  return text.toLowerCase();
}

function readCursor(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (text === '' || text.length > MAX_CURSOR_CHARACTERS) throw new InvalidExportCursor();
  return text;
}

function readUpdatedSince(text: string | undefined): string | null {
  if (text === undefined) return null;
  const since = parseIsoDateTime(text);
  if (since === null) throw new InvalidExportPagination('updatedSince must be an ISO 8601 time with an offset');
  return since.toISOString();
}

function readLimit(text: string | undefined, defaultLimit: number): number {
  if (text === undefined) return defaultLimit;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw new InvalidExportPagination(`limit must be 1 to ${MAX_LIMIT}`);
  return limit;
}
