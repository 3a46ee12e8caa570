import { ApiProperty } from '@nestjs/swagger';
import type { SiteAddress, SiteContact } from '../site-details.mapper.js';

export class SiteDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the site' })
  id: string;

  @ApiProperty({ format: 'uuid', description: 'Organization of the site' })
  orgId: string;

  @ApiProperty({ description: 'Name of the site' })
  name: string;

  @ApiProperty({ example: 'Europe/Berlin', description: 'IANA time zone of the site' })
  timezone: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'Postal address of the site',
  })
  address: SiteAddress | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'Contact of the site',
  })
  contact: SiteContact | null;

  @ApiProperty({ type: 'object', additionalProperties: true, description: 'Settings of the site' })
  settings: Record<string, unknown>;

  @ApiProperty({ type: 'integer', description: 'Without decommissioned devices' })
  deviceCount: number;

  @ApiProperty({ format: 'date-time', description: 'When the site was created' })
  createdAt: string;

  @ApiProperty({ format: 'date-time', description: 'When the site was last changed' })
  updatedAt: string;
}
