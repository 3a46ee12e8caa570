import type { ExportedSite } from '@rmm/contracts';

/** Address of a site; every line may be null. Stored and returned in the form of the export. */
export type SiteAddress = NonNullable<ExportedSite['address']>;
/** Contact of a site. */
export type SiteContact = NonNullable<ExportedSite['contact']>;

const ADDRESS_LINES = ['line1', 'line2', 'city', 'region', 'postalCode', 'country'] as const;
const CONTACT_FIELDS = ['name', 'email', 'phone'] as const;

const complete = <K extends string>(keys: readonly K[], given: Partial<Record<K, string | null>>) => {
  const filled = Object.fromEntries(keys.map((key) => [key, given[key]?.trim() || null])) as Record<K, string | null>;
  return keys.some((key) => filled[key] !== null) ? filled : null;
};

/** Returns all lines, blank ones as null; null when all are blank. */
export const toSiteAddress = (given: Partial<SiteAddress>): SiteAddress | null => complete(ADDRESS_LINES, given);
/** Returns all fields, blank ones as null; null when all are blank. */
export const toSiteContact = (given: Partial<SiteContact>): SiteContact | null => complete(CONTACT_FIELDS, given);

/** Merges an address or contact: a null in `given` keeps the stored value. */
export function mergeDetails<T extends SiteAddress | SiteContact>(stored: T | null, given: T | null): T | null {
  if (given === null) return stored;
  const values = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  return { ...(stored ?? given), ...values };
}

/** Returns whether two addresses or contacts are equal. */
export const sameDetails = <T extends SiteAddress | SiteContact>(one: T | null, other: T | null): boolean =>
  one === other ||
  (one !== null &&
    other !== null &&
    Object.keys({ ...one, ...other }).every((key) => one[key as keyof T] === other[key as keyof T]));
