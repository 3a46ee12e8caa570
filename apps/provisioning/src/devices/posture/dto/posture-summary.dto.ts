import { ApiProperty } from '@nestjs/swagger';
import {
  DETECTION_STATUSES,
  POSTURE_CATEGORIES,
  type DetectionStatus,
  type PostureCategory,
} from '../../reports/device-posture-product.entity.js';

/** Numbers of devices: those never scanned, those scanned without and those with a detection are all devices. */
export class PostureCountsDto {
  @ApiProperty({ type: 'integer', description: 'Number of devices' })
  totalDevices: number;

  @ApiProperty({ type: 'integer', description: 'Devices that never reported: unknown' })
  neverScanned: number;

  @ApiProperty({ type: 'integer', description: 'Devices whose latest scan is older than `stalenessDays`' })
  stale: number;

  @ApiProperty({ type: 'integer', description: 'Devices whose latest scan found nothing of the category' })
  scannedNoneDetected: number;

  @ApiProperty({ type: 'integer', description: 'Devices whose latest scan found a product of the category' })
  detectedDevices: number;

  @ApiProperty({ type: 'integer', description: 'Those of `detectedDevices` that are not stale' })
  freshDetectedDevices: number;
}

export class PostureProductDto {
  @ApiProperty({ type: String, description: 'Name of the product' })
  product: string;

  @ApiProperty({ enum: DETECTION_STATUSES, description: 'State of the product on these devices' })
  status: DetectionStatus;

  @ApiProperty({ type: 'integer', description: 'Number of devices with it' })
  deviceCount: number;

  @ApiProperty({ type: 'integer', description: 'Devices whose latest scan is not stale' })
  freshDeviceCount: number;
}

export class OrganizationPostureDto extends PostureCountsDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the organization' })
  orgId: string;

  @ApiProperty({ type: [PostureProductDto], description: 'On most devices first, at most 100' })
  products: PostureProductDto[];
}

class PostureSummaryDataDto {
  @ApiProperty({ enum: POSTURE_CATEGORIES, description: 'Category of the products' })
  category: PostureCategory;

  @ApiProperty({ type: 'integer', description: 'Days after which a scan is stale' })
  stalenessDays: number;

  @ApiProperty({ type: PostureCountsDto, description: 'Of all organizations' })
  totals: PostureCountsDto;

  @ApiProperty({
    type: [OrganizationPostureDto],
    description: 'The organizations with devices; most devices first, at most 2,000',
  })
  orgs: OrganizationPostureDto[];

  @ApiProperty({ type: Boolean, required: false, description: 'True when organizations or products are left out' })
  truncated?: true;
}

export class PostureSummaryDto {
  @ApiProperty({ type: PostureSummaryDataDto, description: 'The summary' })
  data: PostureSummaryDataDto;
}
