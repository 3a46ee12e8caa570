import type { SiteDto } from './dto/site.dto.js';
import type { SiteView } from './sites.repository.js';

export const toSiteDto = (row: SiteView): SiteDto => ({
  id: row.id,
  orgId: row.orgId,
  name: row.name,
  timezone: row.timezone,
  address: row.address,
  contact: row.contact,
  settings: row.settings,
  deviceCount: row.deviceCount,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});
