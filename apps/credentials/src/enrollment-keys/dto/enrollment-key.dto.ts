import { ApiProperty } from '@nestjs/swagger';
import { ENROLLMENT_KEY_STATUSES, type EnrollmentKeyStatus } from '../enrollment-key.entity.js';

/** An enrollment key without the key itself. @see docs/reference/keys.md */
export class EnrollmentKeyDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the enrollment key' })
  id: string;
  @ApiProperty({ format: 'uuid', description: 'Organization of the enrollment key' })
  orgId: string;
  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'The site its devices are enrolled in; null: the site the agent names',
  })
  siteId: string | null;
  @ApiProperty({ description: 'Name of the enrollment key' })
  name: string;
  @ApiProperty({ type: 'integer', description: 'Enrollments since the key was created or rotated' })
  usageCount: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'null: any number' })
  maxUsage: number | null;
  @ApiProperty({ format: 'date-time', description: 'When the key expires; null: never' })
  expiresAt: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'null: created by a machine' })
  createdBy: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the enrollment key was created' })
  createdAt: string;
  @ApiProperty({ enum: ENROLLMENT_KEY_STATUSES, description: 'State of the enrollment key' })
  status: EnrollmentKeyStatus;
}

export class CreatedEnrollmentKeyDto extends EnrollmentKeyDto {
  @ApiProperty({ description: '64 hex characters; shown only once', pattern: '^[0-9a-f]{64}$' })
  key: string;
}

export class DeletedEnrollmentKeyDto {
  @ApiProperty({ type: 'boolean', enum: [true], description: 'Always true; a failure is an error response' })
  success: true;
  @ApiProperty({ description: 'A message for the user' })
  message: string;
}
