import { ApiProperty } from '@nestjs/swagger';
import { IsOneOf, IsUuid, IsUuidList, IsWordList } from '@rmm/validation';

/** The reasons for which a device of a bulk request is not changed. */
export const BULK_PROBLEMS = {
  not_found: 'Device not found',
  site_access_denied: 'Access to this site denied',
  device_decommissioned: 'Device is decommissioned',
  organization_mismatch: 'The device is of another organization',
  site_mismatch: 'The device is of another site than the group',
  tag_limit_reached: 'A device has at most 50 tags',
  group_limit_reached: 'A device is in at most 50 groups',
} as const;
export type BulkProblem = keyof typeof BULK_PROBLEMS;

const BULK_STATUSES = ['changed', 'unchanged', 'failed'] as const;

class BulkDevicesDto {
  @IsUuidList({ min: 1, max: 1_000, description: 'Devices to change' })
  deviceIds!: string[];
}

export class BulkDecommissionDto extends BulkDevicesDto {}

export class BulkTagsDto extends BulkDevicesDto {
  @IsWordList({ max: 50, maxLength: 50, optional: true, description: 'Tags to add' })
  add?: string[];

  @IsWordList({ max: 50, maxLength: 50, optional: true, description: 'Tags to remove' })
  remove?: string[];
}

export class BulkSiteDto extends BulkDevicesDto {
  @IsUuid({ nullable: true, description: 'A site of the organization of the devices; null for none' })
  siteId!: string | null;
}

export class BulkGroupDto extends BulkDevicesDto {
  @IsUuid({ description: 'A group of the organization of the devices' })
  groupId!: string;

  @IsOneOf(['add', 'remove'], { description: 'Whether to add the devices or to remove them' })
  action!: 'add' | 'remove';
}

export class BulkResultDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the device' })
  deviceId: string;

  @ApiProperty({ enum: BULK_STATUSES, description: 'Whether the device was changed' })
  status: (typeof BULK_STATUSES)[number];

  @ApiProperty({ enum: Object.keys(BULK_PROBLEMS), required: false, description: 'Why it failed' })
  code?: BulkProblem;

  @ApiProperty({ type: String, required: false, description: 'Why it was not changed' })
  error?: string;
}

export class BulkSummaryDto {
  @ApiProperty({ type: 'integer', description: 'Devices that were changed' })
  changed: number;

  @ApiProperty({ type: 'integer', description: 'They were as requested before' })
  unchanged: number;

  @ApiProperty({ type: 'integer', description: 'Devices that could not be changed' })
  failed: number;
}

export class BulkResultsDto {
  @ApiProperty({ type: [BulkResultDto], description: 'In the order of the request' })
  results: BulkResultDto[];

  @ApiProperty({ type: BulkSummaryDto, description: 'Counts of the results' })
  summary: BulkSummaryDto;
}

export class BulkResponseDto {
  @ApiProperty({ type: BulkResultsDto, description: 'The results' })
  data: BulkResultsDto;
}
