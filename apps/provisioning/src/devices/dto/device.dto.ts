import { ApiProperty } from '@nestjs/swagger';
import { DEVICE_STATUSES, OS_TYPES, type DeviceStatus, type OsType } from '../device.entity.js';

export class DeviceDto {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ format: 'uuid' })
  orgId: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  siteId: string | null;

  @ApiProperty({ format: 'uuid' })
  agentId: string;

  @ApiProperty()
  hostname: string;

  @ApiProperty({ type: String, nullable: true })
  displayName: string | null;

  @ApiProperty({ enum: OS_TYPES })
  osType: OsType;

  @ApiProperty({ type: String, nullable: true })
  deviceRole: string | null;

  @ApiProperty({ type: String, nullable: true })
  osVersion: string | null;

  @ApiProperty({ type: String, nullable: true })
  architecture: string | null;

  @ApiProperty({ type: String, nullable: true })
  agentVersion: string | null;

  @ApiProperty({ enum: DEVICE_STATUSES })
  status: DeviceStatus;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  lastSeenAt: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  enrolledAt: string | null;

  @ApiProperty({ type: [String] })
  tags: string[];

  @ApiProperty({ type: [String], format: 'uuid' })
  groupIds: string[];

  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true, description: 'Null in lists by default' })
  customFields: Record<string, unknown> | null;

  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true, description: 'Null in lists by default' })
  hardware: Record<string, unknown> | null;

  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true, description: 'Null in lists by default' })
  metrics: Record<string, unknown> | null;
}
