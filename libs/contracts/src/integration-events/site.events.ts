/** `data` of `site.deleted`. */
export interface SiteState {
  siteId: string;
  orgId: string;
  partnerId: string;
  name: string;
  deleted: boolean;
  version: number;
}
