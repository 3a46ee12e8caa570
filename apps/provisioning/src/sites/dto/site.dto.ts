import { ApiProperty } from '@nestjs/swagger';
import type { SiteAddress, SiteContact } from '../site-details.mapper.js';

export class SiteDto {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ format: 'uuid' })
  orgId: string;

  @ApiProperty()
  name: string;

  @ApiProperty({ example: 'Europe/Berlin' })
  timezone: string;

  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true })
  address: SiteAddress | null;

  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true })
  contact: SiteContact | null;

  @ApiProperty({ type: 'object', additionalProperties: true })
  settings: Record<string, unknown>;

  @ApiProperty({ type: 'integer', description: 'Without decommissioned devices' })
  deviceCount: number;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}
