import { ApiProperty } from '@nestjs/swagger';
import { DEVICE_STATUSES, OS_TYPES, type DeviceStatus, type OsType } from '../device.entity.js';

export class DeviceDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the device' })
  id: string;

  @ApiProperty({ format: 'uuid', description: 'Organization of the device' })
  orgId: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Site of the device' })
  siteId: string | null;

  @ApiProperty({ format: 'uuid', description: 'Id of the agent' })
  agentId: string;

  @ApiProperty({ description: 'Host name of the device' })
  hostname: string;

  @ApiProperty({ type: String, nullable: true, description: 'Name that users gave the device' })
  displayName: string | null;

  @ApiProperty({ enum: OS_TYPES, description: 'Operating system of the device' })
  osType: OsType;

  @ApiProperty({ type: String, nullable: true, description: 'Role of the device, such as server or workstation' })
  deviceRole: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Version of the operating system' })
  osVersion: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Processor architecture' })
  architecture: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Version of the agent' })
  agentVersion: string | null;

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

  @ApiProperty({ type: [String], description: 'Words that the device is tagged with' })
  tags: string[];

  @ApiProperty({ type: [String], format: 'uuid', description: 'Device groups of the device' })
  groupIds: string[];

  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true, description: 'Null in lists by default' })
  customFields: Record<string, unknown> | null;

  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true, description: 'Null in lists by default' })
  hardware: Record<string, unknown> | null;

  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true, description: 'Null in lists by default' })
  metrics: Record<string, unknown> | null;
}
