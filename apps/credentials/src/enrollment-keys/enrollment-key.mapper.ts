import type { CreatedEnrollmentKeyDto, EnrollmentKeyDto } from './dto/enrollment-key.dto.js';
import type { EnrollmentKey, EnrollmentKeyStatus } from './enrollment-key.entity.js';

function currentStatus({ expiresAt, usageCount, maxUsage }: EnrollmentKey, now: Date): EnrollmentKeyStatus {
  if (expiresAt <= now) return 'expired';
  return maxUsage !== null && usageCount >= maxUsage ? 'exhausted' : 'active';
}

export function toEnrollmentKeyDto(row: EnrollmentKey, now: Date): EnrollmentKeyDto {
  return {
    id: row.id,
    orgId: row.orgId,
    siteId: row.siteId,
    name: row.name,
    usageCount: row.usageCount,
    maxUsage: row.maxUsage,
    expiresAt: row.expiresAt.toISOString(),
    createdBy: row.createdBy,
    createdAt: row.createdAt.toISOString(),
    status: currentStatus(row, now),
  };
}

export function toCreatedEnrollmentKeyDto(row: EnrollmentKey, now: Date, key: string): CreatedEnrollmentKeyDto {
  return { ...toEnrollmentKeyDto(row, now), key };
}
