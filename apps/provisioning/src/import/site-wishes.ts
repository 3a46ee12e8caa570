import { nameKey, tidyName } from '../organizations/name-key.js';
import { mergeDetails, type SiteAddress, type SiteContact } from '../sites/site-details.js';
import type { ImportRow } from './import-row.js';

/** A site that the rows of one group ask for. Null fields say nothing. */
export interface SiteWish {
  name: string;
  nameKey: string;
  timezone: string | null;
  address: SiteAddress | null;
  contact: SiteContact | null;
}

/**
 * The sites named by the rows of one organization, each once, in the order of first appearance. Rows that repeat a site
 * complete it: a blank never clears.
 */
export function namedSites(rows: readonly ImportRow[]): SiteWish[] {
  const wishes = new Map<string, SiteWish>();
  for (const row of rows) {
    if (row.site !== null) addWish(wishes, row.site, row);
  }
  return [...wishes.values()];
}

/** The one site of a group that names none: it takes the organization's name and what the rows say of it. */
export function defaultSite(rows: readonly ImportRow[], organizationName: string): SiteWish {
  const wishes = new Map<string, SiteWish>();
  for (const row of rows) addWish(wishes, organizationName, row);
  return wishes.get(nameKey(organizationName)) as SiteWish;
}

function addWish(wishes: Map<string, SiteWish>, name: string, row: ImportRow): void {
  const key = nameKey(name);
  const { timezone, address, contact } = row;
  const wish = wishes.get(key) ?? { name: tidyName(name), nameKey: key, timezone: null, address: null, contact: null };
  wishes.set(key, {
    ...wish,
    timezone: timezone ?? wish.timezone,
    address: mergeDetails(wish.address, address),
    contact: mergeDetails(wish.contact, contact),
  });
}
