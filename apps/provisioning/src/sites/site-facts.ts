import type { Actor, SiteState } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';

/** The columns that a fact tells of, as the repository reads them. */
export interface SiteFactRow {
  id: string;
  orgId: string;
  partnerId: string;
  name: string;
  deletedAt: Date | null;
  /** bigint: text from the database. */
  version: string | number;
}

export const SITE_FACT_COLUMNS = `id, org_id as "orgId", partner_id as "partnerId", name, deleted_at as "deletedAt", version`;

export type SiteFactType = 'site.created' | 'site.updated' | 'site.deleted';

export const toSiteFact = (row: SiteFactRow): SiteState => ({
  siteId: row.id,
  orgId: row.orgId,
  partnerId: row.partnerId,
  name: row.name,
  deleted: row.deletedAt !== null,
  version: Number(row.version),
});

/** The fact, on its way to the services that remember sites. */
export function siteMessage(type: SiteFactType, row: SiteFactRow, actor?: Actor): OutgoingMessage {
  const fact = toSiteFact(row);
  return {
    stream: 'internal',
    type,
    aggregateId: fact.siteId,
    aggregateVersion: fact.version,
    partnerId: fact.partnerId,
    orgId: fact.orgId,
    actor,
    data: fact,
  };
}
