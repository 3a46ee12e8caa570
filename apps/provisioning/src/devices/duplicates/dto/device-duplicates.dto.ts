import { ApiProperty } from '@nestjs/swagger';
import { IsOneOf, IsUuid } from '@rmm/validation';
import { DEVICE_STATUSES, OS_TYPES, type DeviceStatus, type OsType } from '../../device.entity.js';

export const DUPLICATE_KEYS = ['serialNumber', 'macAddress'] as const;
export type DuplicateKey = (typeof DUPLICATE_KEYS)[number];

export class FindDuplicatesDto {
  @IsUuid({ optional: true, description: 'Required but for organization callers' })
  orgId?: string;

  @IsOneOf(DUPLICATE_KEYS, { optional: true, description: 'What the devices have in common' })
  by: DuplicateKey = 'serialNumber';
}

export class MergeDevicesDto {
  @IsUuid({ description: 'The device of the same organization that is decommissioned' })
  duplicateId!: string;
}

export class DuplicateDeviceDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the device' })
  id: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Site of the device' })
  siteId: string | null;

  @ApiProperty({ description: 'Host name of the device' })
  hostname: string;

  @ApiProperty({ type: String, nullable: true, description: 'Name that users gave the device' })
  displayName: string | null;

  @ApiProperty({ enum: OS_TYPES, description: 'Operating system of the device' })
  osType: OsType;

  @ApiProperty({ enum: DEVICE_STATUSES, description: 'State of the device' })
  status: DeviceStatus;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the agent last reported; null: never',
  })
  lastSeenAt: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the device enrolled; null: not yet',
  })
  enrolledAt: string | null;
}

export class DuplicateSetDto {
  @ApiProperty({ description: 'The serial number or address, without separators' })
  key: string;

  @ApiProperty({ type: 'integer', description: 'Devices in use; at most 50 of them are listed' })
  deviceCount: number;

  @ApiProperty({ type: [DuplicateDeviceDto], description: 'The one seen last first' })
  devices: DuplicateDeviceDto[];
}

export class DuplicatesDto {
  @ApiProperty({ enum: DUPLICATE_KEYS, description: 'What the duplicates have in common' })
  by: DuplicateKey;

  @ApiProperty({ type: [DuplicateSetDto], description: 'Sets of duplicates' })
  sets: DuplicateSetDto[];

  @ApiProperty({ type: Boolean, description: 'True when there are more than 200 sets' })
  truncated: boolean;
}

export class DuplicatesResponseDto {
  @ApiProperty({ type: DuplicatesDto, description: 'The duplicates' })
  data: DuplicatesDto;
}
