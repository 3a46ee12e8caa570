import { ApiProperty } from '@nestjs/swagger';
import { ENROLLMENT_KEY_STATUSES, type EnrollmentKey, type EnrollmentKeyStatus } from '../enrollment-key.entity.js';

/** @see CONTRACT.md 4.2 */
export class EnrollmentKeyDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'uuid' })
  orgId: string;
  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'Where its agents stand, whatever they say',
  })
  siteId: string | null;
  @ApiProperty()
  name: string;
  @ApiProperty({ type: 'integer', description: 'Enrollments since the key was made or rotated' })
  usageCount: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'null: any number' })
  maxUsage: number | null;
  @ApiProperty({ format: 'date-time' })
  expiresAt: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'null: minted by a machine' })
  createdBy: string | null;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ enum: ENROLLMENT_KEY_STATUSES })
  status: EnrollmentKeyStatus;
}

export class CreatedEnrollmentKeyDto extends EnrollmentKeyDto {
  @ApiProperty({ description: '64 hex characters; shown this once', pattern: '^[0-9a-f]{64}$' })
  key: string;
}

export class DeletedEnrollmentKeyDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  success: true;
  @ApiProperty({ description: 'A sentence for people' })
  message: string;
}

export const toEnrollmentKeyDto = (row: EnrollmentKey): EnrollmentKeyDto => ({
  id: row.id,
  orgId: row.orgId,
  siteId: row.siteId,
  name: row.name,
  usageCount: row.usageCount,
  maxUsage: row.maxUsage,
  expiresAt: row.expiresAt.toISOString(),
  createdBy: row.createdBy,
  createdAt: row.createdAt.toISOString(),
  status: row.status,
});

/** The only time the key leaves. */
export const toCreatedEnrollmentKeyDto = (row: EnrollmentKey, key: string): CreatedEnrollmentKeyDto => ({
  ...toEnrollmentKeyDto(row),
  key,
});
