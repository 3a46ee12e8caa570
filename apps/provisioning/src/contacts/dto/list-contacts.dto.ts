import { fieldOf, IsOneOf, isUuid } from '@rmm/validation';
import { SortedPageQueryDto } from '../../lists/dto/sorted-page-query.dto.js';
import { CONTACT_ROLES, type ContactRole } from '../contact.entity.js';

export class ListContactsDto extends SortedPageQueryDto {
  @fieldOf({
    name: 'isSiteFilter',
    optional: true,
    read: (value) => (typeof value === 'string' ? value.toLowerCase() : value),
    check: (value) => value === 'none' || isUuid(value),
    text: 'must be a UUID or none',
    description: '`none`: contacts of the whole organization',
    api: { type: String },
  })
  siteId?: string;

  @IsOneOf(CONTACT_ROLES, { optional: true, description: 'Only contacts with this role' })
  role?: ContactRole;
}
