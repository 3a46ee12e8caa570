import { IsEmailAddress, IsFlag, IsName, IsText, IsUuid, IsWordList } from '@rmm/validation';
import { CONTACT_ROLES, type ContactRole } from '../contact.entity.js';

/** One of name, email, phone and mobile is required. */
export class CreateContactDto {
  @IsUuid({ optional: true, nullable: true, description: 'Absent for a contact of the whole organization' })
  siteId?: string | null;

  @IsName({ optional: true, nullable: true, example: 'Kim Berg', description: 'Name of the contact' })
  name?: string | null;

  @IsEmailAddress({ optional: true, nullable: true, description: 'E-mail address of the contact' })
  email?: string | null;

  @IsName({ max: 64, optional: true, nullable: true, description: 'Phone number of the contact' })
  phone?: string | null;

  @IsName({ max: 64, optional: true, nullable: true, description: 'Mobile phone number of the contact' })
  mobile?: string | null;

  @IsName({ optional: true, nullable: true, description: 'Position or title of the contact' })
  title?: string | null;

  @IsWordList({
    values: CONTACT_ROLES,
    optional: true,
    nullable: true,
    description: 'Roles of the contact, such as billing',
  })
  roles?: ContactRole[] | null;

  @IsFlag({ optional: true, description: 'Takes the place of the primary contact of the organization' })
  isPrimary?: boolean;

  @IsText({ max: 4_000, optional: true, nullable: true, description: 'Free text about the contact' })
  notes?: string | null;
}
