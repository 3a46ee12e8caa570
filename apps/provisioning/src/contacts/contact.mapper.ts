import type { Contact } from './contact.entity.js';
import type { ContactDto } from './dto/contact.dto.js';

export const toContactDto = (row: Contact): ContactDto => ({
  id: row.id,
  orgId: row.orgId,
  siteId: row.siteId,
  name: row.name,
  email: row.email,
  phone: row.phone,
  mobile: row.mobile,
  title: row.title,
  roles: row.roles,
  isPrimary: row.isPrimary,
  notes: row.notes,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});
