import { ApiProperty } from '@nestjs/swagger';

export class DeviceGroupDto {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ format: 'uuid' })
  orgId: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Null for a group of all sites' })
  siteId: string | null;

  @ApiProperty({ example: 'Servers' })
  name: string;

  @ApiProperty({ type: String, nullable: true })
  description: string | null;

  @ApiProperty({ type: 'integer', description: 'The devices that the caller may see' })
  deviceCount: number;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}
