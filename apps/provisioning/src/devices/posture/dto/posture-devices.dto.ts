import { ApiProperty } from '@nestjs/swagger';
import { PaginationDto } from '@rmm/validation';
import { DEVICE_STATUSES, OS_TYPES, type DeviceStatus, type OsType } from '../../device.entity.js';
import { DETECTION_STATUSES, type DetectionStatus } from '../../reports/device-posture-product.entity.js';

export class PostureDeviceDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the device' })
  id: string;

  @ApiProperty({ format: 'uuid', description: 'Organization of the device' })
  orgId: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Site of the device' })
  siteId: string | null;

  @ApiProperty({ type: String, description: 'Host name of the device' })
  hostname: string;

  @ApiProperty({ type: String, nullable: true, description: 'Name that users gave the device' })
  displayName: string | null;

  @ApiProperty({ enum: DEVICE_STATUSES, description: 'State of the device' })
  status: DeviceStatus;

  @ApiProperty({ enum: OS_TYPES, description: 'Operating system of the device' })
  osType: OsType;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the agent last reported; null: never',
  })
  lastSeenAt: string | null;

  @ApiProperty({ format: 'date-time', description: 'When the device was scanned' })
  collectedAt: string;

  @ApiProperty({ enum: DETECTION_STATUSES, description: 'State of the product on the device' })
  detectionStatus: DetectionStatus;

  @ApiProperty({ type: String, nullable: true, description: 'Version of the product on the device' })
  detectionVersion: string | null;
}

class PostureDevicesDataDto extends PaginationDto {
  @ApiProperty({ type: [PostureDeviceDto], description: 'The devices of the page' })
  devices: PostureDeviceDto[];
}

export class PostureDevicesDto {
  @ApiProperty({ type: PostureDevicesDataDto, description: 'The page' })
  data: PostureDevicesDataDto;
}
