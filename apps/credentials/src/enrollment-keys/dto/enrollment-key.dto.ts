import type { EnrollmentKey } from '../enrollment-key.entity.js';

export interface EnrollmentKeyDto {
  id: string;
  orgId: string;
  siteId: string | null;
  name: string;
  usageCount: number;
  maxUsage: number | null;
  expiresAt: string;
  createdBy: string | null;
  createdAt: string;
  status: 'active' | 'expired' | 'exhausted';
}

export interface CreatedEnrollmentKeyDto extends EnrollmentKeyDto {
  /** 64 hex characters; shown this once. */
  key: string;
}

function statusAt(row: EnrollmentKey, now: Date): EnrollmentKeyDto['status'] {
  if (row.expiresAt <= now) return 'expired';
  return row.maxUsage !== null && row.usageCount >= row.maxUsage ? 'exhausted' : 'active';
}

export const toEnrollmentKeyDto = (row: EnrollmentKey, now: Date): EnrollmentKeyDto => ({
  id: row.id,
  orgId: row.orgId,
  siteId: row.siteId,
  name: row.name,
  usageCount: row.usageCount,
  maxUsage: row.maxUsage,
  expiresAt: row.expiresAt.toISOString(),
  createdBy: row.createdBy,
  createdAt: row.createdAt.toISOString(),
  status: statusAt(row, now),
});
