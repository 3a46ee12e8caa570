import { ApiProperty } from '@nestjs/swagger';
import { ENROLLMENT_KEY_STATUSES, type EnrollmentKeyStatus } from '../enrollment-key.entity.js';

/** An enrollment key without the key itself. @see docs/reference/keys.md */
export class EnrollmentKeyDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'uuid' })
  orgId: string;
  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'The site its devices are enrolled in; null: the site the agent names',
  })
  siteId: string | null;
  @ApiProperty()
  name: string;
  @ApiProperty({ type: 'integer', description: 'Enrollments since the key was created or rotated' })
  usageCount: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'null: any number' })
  maxUsage: number | null;
  @ApiProperty({ format: 'date-time' })
  expiresAt: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'null: created by a machine' })
  createdBy: string | null;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ enum: ENROLLMENT_KEY_STATUSES })
  status: EnrollmentKeyStatus;
}

export class CreatedEnrollmentKeyDto extends EnrollmentKeyDto {
  @ApiProperty({ description: '64 hex characters; shown only once', pattern: '^[0-9a-f]{64}$' })
  key: string;
}

export class DeletedEnrollmentKeyDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  success: true;
  @ApiProperty({ description: 'A message for the user' })
  message: string;
}
