/** `data` of `site.created`, `.updated` and `.deleted`. */
export interface SiteState {
  siteId: string;
  orgId: string;
  partnerId: string;
  name: string;
  deleted: boolean;
  version: number;
}
