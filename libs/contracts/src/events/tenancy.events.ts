import type { OrganizationStatus } from '../integration-events/organization.events.js';

/** `data` of `organization.created`, `organization.updated` and `organization.deleted` for webhooks. */
export interface OrganizationChanged {
  organizationId: string;
  name: string;
  slug: string;
  status: OrganizationStatus;
}

/** `data` of `site.created`, `site.updated` and `site.deleted` for webhooks. */
export interface SiteChanged {
  siteId: string;
  name: string;
}
