import { nameKey, trimName } from '../organizations/name-key.js';
import { mergeDetails, type SiteAddress, type SiteContact } from '../sites/site-details.mapper.js';
import type { ImportRow } from './import-rows.js';

/** A site that the rows of one group request. A null field keeps the stored value. */
export interface RequestedSite {
  name: string;
  nameKey: string;
  timezone: string | null;
  address: SiteAddress | null;
  contact: SiteContact | null;
}

/**
 * Returns the sites that the rows of one organization name, each once, in the order of first appearance. Rows that repeat
 * a site complete it: a blank never clears a value.
 */
export function namedSites(rows: readonly ImportRow[]): RequestedSite[] {
  const sites = new Map<string, RequestedSite>();
  for (const row of rows) {
    if (row.site !== null) mergeRow(sites, row.site, row);
  }
  return [...sites.values()];
}

/** Returns the one site of a group that names none: it has the name of the organization and the details of the rows. */
export function defaultSite(rows: readonly ImportRow[], organizationName: string): RequestedSite {
  const sites = new Map<string, RequestedSite>();
  for (const row of rows) mergeRow(sites, organizationName, row);
  return sites.get(nameKey(organizationName)) as RequestedSite;
}

function mergeRow(sites: Map<string, RequestedSite>, name: string, row: ImportRow): void {
  const key = nameKey(name);
  const { timezone, address, contact } = row;
  const site = sites.get(key) ?? { name: trimName(name), nameKey: key, timezone: null, address: null, contact: null };
  sites.set(key, {
    ...site,
    timezone: timezone ?? site.timezone,
    address: mergeDetails(site.address, address),
    contact: mergeDetails(site.contact, contact),
  });
}
