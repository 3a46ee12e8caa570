import { createHash } from 'node:crypto';
import type { AuditLogDto } from './audit-log.dto.js';
import type { ChainBreakDto } from './chain-verification.dto.js';

/** A row before it is sealed, in the names of CONTRACT 9. */
export type AuditRow = Omit<AuditLogDto, 'checksum' | 'previousChecksum'>;

/** The last link of a chain. */
export interface AuditHead {
  sequence: number;
  /** SHA-256, hex; 64 zeros before the first row. */
  checksum: string;
}

export interface SealedAuditRow extends AuditLogDto {
  /** The bytes that were hashed, kept as written. */
  canonical: string;
}

export const EMPTY_CHAIN: AuditHead = { sequence: 0, checksum: '0'.repeat(64) };

/** JSON with sorted keys and no spaces: the same row gives the same bytes on every machine. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value ?? null);
}

/** SHA-256 of the previous checksum and the row's canonical JSON, hex. */
export const checksumOf = (previousChecksum: string, canonical: string): string =>
  createHash('sha256').update(previousChecksum).update(canonical).digest('hex');

/** Appends rows to a chain in the order given. Returns them sealed, and the new head. */
export function sealRows(
  head: AuditHead,
  rows: readonly Omit<AuditRow, 'sequence'>[],
): { sealed: SealedAuditRow[]; head: AuditHead } {
  let { sequence, checksum } = head;
  const sealed = rows.map((unnumbered) => {
    const row: AuditRow = { ...unnumbered, sequence: (sequence += 1) };
    const canonical = canonicalJson(row);
    const previousChecksum = checksum;
    checksum = checksumOf(previousChecksum, canonical);
    return { ...row, canonical, checksum, previousChecksum };
  });
  return { sealed, head: { sequence, checksum } };
}

/**
 * Walks rows in order of sequence and finds the first one that does not follow from the one before.
 * @param from  the link before the first row given
 */
export function firstBreak(from: AuditHead, rows: readonly SealedAuditRow[]): ChainBreakDto | null {
  let expected = from;
  for (const row of rows) {
    const kind = breakAt(expected, row);
    if (kind !== null) return { sequence: row.sequence, id: row.id, kind };
    expected = { sequence: row.sequence, checksum: row.checksum };
  }
  return null;
}

function breakAt(expected: AuditHead, row: SealedAuditRow): ChainBreakDto['kind'] | null {
  const { canonical, checksum, previousChecksum, ...columns } = row;
  if (row.sequence <= expected.sequence) return 'reordered'; // a second row in one place
  if (row.sequence > expected.sequence + 1) return 'missing';
  const isSealed = checksumOf(previousChecksum, canonical) === checksum;
  if (!isSealed || canonicalJson(columns) !== canonical) {
    return isSealed && isElsewhere(columns, canonical) ? 'reordered' : 'changed';
  }
  return previousChecksum === expected.checksum ? null : 'reordered';
}

/** Only the place differs from what was sealed: the row was moved. */
function isElsewhere(columns: AuditRow, canonical: string): boolean {
  const sequence = Number(/"sequence":(\d+)/.exec(canonical)?.[1]);
  return canonicalJson({ ...columns, sequence }) === canonical;
}
