/** Facts `site.created`, `.updated` and `.deleted` of provisioning. */
export interface SiteState {
  siteId: string;
  orgId: string;
  partnerId: string;
  name: string;
  deleted: boolean;
  version: number;
}

export const SITE_CREATED = 'site.created';
export const SITE_UPDATED = 'site.updated';
export const SITE_DELETED = 'site.deleted';
