import { ApiProperty } from '@nestjs/swagger';

export class DeviceGroupDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the device group' })
  id: string;

  @ApiProperty({ format: 'uuid', description: 'Organization of the device group' })
  orgId: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Null for a group of all sites' })
  siteId: string | null;

  @ApiProperty({ example: 'Servers', description: 'Name of the device group' })
  name: string;

  @ApiProperty({ type: String, nullable: true, description: 'Free text about the device group' })
  description: string | null;

  @ApiProperty({ type: 'integer', description: 'The devices that the caller may see' })
  deviceCount: number;

  @ApiProperty({ format: 'date-time', description: 'When the device group was created' })
  createdAt: string;

  @ApiProperty({ format: 'date-time', description: 'When the device group was last changed' })
  updatedAt: string;
}
