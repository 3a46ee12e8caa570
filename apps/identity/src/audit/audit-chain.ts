import { createHash } from 'node:crypto';
import { canonicalJson } from '@rmm/validation';
import type { AuditLogDto } from './dto/audit-log.dto.js';
import type { ChainBreakDto } from './dto/chain-verification.dto.js';

/** An entry before it is sealed, with the names of the API. */
export type AuditRow = Omit<AuditLogDto, 'checksum' | 'previousChecksum'>;

/** The last link of a chain. */
export interface AuditHead {
  sequence: number;
  /** SHA-256, hex; 64 zeros before the first row. */
  checksum: string;
}

export interface SealedAuditRow extends AuditLogDto {
  /** The bytes that were hashed, as written. */
  canonical: string;
}

export const EMPTY_CHAIN: AuditHead = { sequence: 0, checksum: '0'.repeat(64) };

/** Returns the SHA-256 of the previous checksum and the canonical JSON of an entry, hex. */
export const checksumOf = (previousChecksum: string, canonical: string): string =>
  createHash('sha256').update(previousChecksum).update(canonical).digest('hex');

/** Appends entries to a chain in the given order. @returns them sealed, and the new head */
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
 * Checks entries in order of sequence and returns the first one that does not follow from the one before.
 * @param from  the link before the first row given
 */
export function findFirstBreak(from: AuditHead, rows: readonly SealedAuditRow[]): ChainBreakDto | null {
  let expected = from;
  for (const row of rows) {
    const kind = findBreak(expected, row);
    if (kind !== null) return { sequence: row.sequence, id: row.id, kind };
    expected = { sequence: row.sequence, checksum: row.checksum };
  }
  return null;
}

function findBreak(expected: AuditHead, row: SealedAuditRow): ChainBreakDto['kind'] | null {
  const { canonical, checksum, previousChecksum, ...columns } = row;
  if (row.sequence <= expected.sequence) return 'reordered'; // a second entry at one position
  if (row.sequence > expected.sequence + 1) return 'missing';
  const isSealed = checksumOf(previousChecksum, canonical) === checksum;
  if (!isSealed || canonicalJson(columns) !== canonical) {
    return isSealed && wasMoved(columns, canonical) ? 'reordered' : 'changed';
  }
  return previousChecksum === expected.checksum ? null : 'reordered';
}

/** Returns true when only the position differs from what was sealed: the entry was moved. */
function wasMoved(columns: AuditRow, canonical: string): boolean {
  const sequence = Number(/"sequence":(\d+)/.exec(canonical)?.[1]);
  return canonicalJson({ ...columns, sequence }) === canonical;
}
