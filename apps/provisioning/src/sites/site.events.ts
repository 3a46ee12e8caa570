import type { Actor, SiteState } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';
import type { Site } from './site.entity.js';

/** The properties of a site that its events carry. */
export type SiteStateRow = Pick<Site, 'id' | 'orgId' | 'partnerId' | 'name' | 'deletedAt' | 'version'>;

export const toSiteState = (row: SiteStateRow): SiteState => ({
  siteId: row.id,
  orgId: row.orgId,
  partnerId: row.partnerId,
  name: row.name,
  deleted: row.deletedAt !== null,
  version: Number(row.version),
});

/**
 * Returns the event that webhooks get, and for a deleted site the integration event as well: no service stores sites, but
 * credentials deletes the enrollment keys of a deleted one.
 */
export function siteEvents(
  type: 'site.created' | 'site.updated' | 'site.deleted',
  row: SiteStateRow,
  actor?: Actor,
): OutgoingMessage[] {
  const state = toSiteState(row);
  const { siteId, orgId, partnerId, name, version } = state;
  const common = { type, aggregateId: siteId, aggregateVersion: version, partnerId, orgId, actor };
  const event: OutgoingMessage = { stream: 'events', ...common, data: { siteId, name } };
  return type === 'site.deleted' ? [{ stream: 'internal', ...common, type, data: state }, event] : [event];
}
