import { ApiProperty } from '@nestjs/swagger';
import { CONTACT_ROLES, type ContactRole } from '../contact.entity.js';

export class ContactDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the contact' })
  id: string;

  @ApiProperty({ format: 'uuid', description: 'Organization of the contact' })
  orgId: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Null: of the whole organization' })
  siteId: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Name of the contact' })
  name: string | null;

  @ApiProperty({ type: String, format: 'email', nullable: true, description: 'E-mail address of the contact' })
  email: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Phone number of the contact' })
  phone: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Mobile phone number of the contact' })
  mobile: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Position or title of the contact' })
  title: string | null;

  @ApiProperty({ enum: CONTACT_ROLES, isArray: true, description: 'Roles of the contact, such as billing' })
  roles: ContactRole[];

  @ApiProperty({ description: 'At most one contact of an organization' })
  isPrimary: boolean;

  @ApiProperty({ type: String, nullable: true, description: 'Free text about the contact' })
  notes: string | null;

  @ApiProperty({ format: 'date-time', description: 'When the contact was created' })
  createdAt: string;

  @ApiProperty({ format: 'date-time', description: 'When the contact was last changed' })
  updatedAt: string;
}

export class ContactResponseDto {
  @ApiProperty({ type: ContactDto, description: 'The contact' })
  data: ContactDto;
}
