import { ApiProperty } from '@nestjs/swagger';
import { OrganizationRecordDto, SiteRecordDto, WithheldRecordDto } from '../../export/dto/export-page.dto.js';

class CreatedRecordDto {
  @ApiProperty({ enum: ['1'], description: 'Version of the envelope' })
  schemaVersion: string;
  @ApiProperty({ type: [WithheldRecordDto], required: false, description: 'One entry when `data` is null' })
  blocked?: WithheldRecordDto[];
}

export class CreatedOrganizationDto extends CreatedRecordDto {
  @ApiProperty({ type: OrganizationRecordDto, nullable: true, description: 'Null when the record is withheld' })
  data: OrganizationRecordDto | null;
}

export class CreatedSiteDto extends CreatedRecordDto {
  @ApiProperty({ type: SiteRecordDto, nullable: true, description: 'Null when the record is withheld' })
  data: SiteRecordDto | null;
}

export class EnrollmentKeyRecordDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the enrollment key' })
  id: string;
  @ApiProperty({ format: 'uuid', description: 'Organization that devices are enrolled in' })
  orgId: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'null: the site that the agent names' })
  siteId: string | null;
  @ApiProperty({ description: 'Name of the enrollment key' })
  name: string;
  @ApiProperty({ type: 'integer', description: 'Enrollments so far' })
  usageCount: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Enrollments that are allowed; null without a limit' })
  maxUsage: number | null;
  @ApiProperty({ format: 'date-time', description: 'When it expires' })
  expiresAt: string;
  @ApiProperty({ format: 'date-time', description: 'When it was created' })
  createdAt: string;
}

export class CreatedEnrollmentKeyDto {
  @ApiProperty({ enum: ['1'], description: 'Version of the envelope' })
  schemaVersion: string;
  @ApiProperty({ type: EnrollmentKeyRecordDto, description: 'The enrollment key without its secret' })
  data: EnrollmentKeyRecordDto;
  @ApiProperty({ description: '64 hex characters; shown only once', pattern: '^[0-9a-f]{64}$' })
  key: string;
  @ApiProperty({ type: String, required: false, description: 'Only with `issueEnrollmentSecret`; shown only once' })
  enrollmentSecret?: string;
}
