import type { ExportedSite } from '@rmm/contracts';

/** Where a site is; every line may be null. Stored and shown as it is exported. */
export type SiteAddress = NonNullable<ExportedSite['address']>;
/** Whom to ask at a site. */
export type SiteContact = NonNullable<ExportedSite['contact']>;

const ADDRESS_LINES = ['line1', 'line2', 'city', 'region', 'postalCode', 'country'] as const;
const CONTACT_FIELDS = ['name', 'email', 'phone'] as const;

const complete = <K extends string>(keys: readonly K[], given: Partial<Record<K, string | null>>) => {
  const filled = Object.fromEntries(keys.map((key) => [key, given[key]?.trim() || null])) as Record<K, string | null>;
  return keys.some((key) => filled[key] !== null) ? filled : null;
};

/** Every line named, blanks as null; null when nothing is left. */
export const toSiteAddress = (given: Partial<SiteAddress>): SiteAddress | null => complete(ADDRESS_LINES, given);
/** Every field named, blanks as null; null when nothing is left. */
export const toSiteContact = (given: Partial<SiteContact>): SiteContact | null => complete(CONTACT_FIELDS, given);

/** Later lines win where they say something: a blank never clears what is known. */
export function mergeDetails<T extends SiteAddress | SiteContact>(stored: T | null, given: T | null): T | null {
  if (given === null) return stored;
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  return { ...(stored ?? given), ...said };
}

/** Do two addresses or contacts say the same? */
export const sameDetails = <T extends SiteAddress | SiteContact>(one: T | null, other: T | null): boolean =>
  one === other ||
  (one !== null &&
    other !== null &&
    Object.keys({ ...one, ...other }).every((key) => one[key as keyof T] === other[key as keyof T]));
