import type { OrganizationStatus } from '@rmm/contracts';
import type { SiteAddress, SiteContact } from '../sites/site-details.mapper.js';
import type { NameSlugs } from './name-slugs.js';

/** A live site of an organization that a row may match. */
export interface KnownSite {
  id: string;
  name: string;
  nameKey: string;
  timezone: string;
  address: SiteAddress | null;
  contact: SiteContact | null;
  version: number;
}

/** An organization, live or soft-deleted, that a row may match by its link or by its name. */
export interface KnownOrganization {
  id: string;
  name: string;
  nameKey: string;
  slug: string;
  status: OrganizationStatus;
  deleted: boolean;
  version: number;
  links: { system: string; externalId: string }[];
  sites: KnownSite[];
}

/** The slugs of an import. */
export interface ImportSlugs {
  byName: NameSlugs;
  /** Slugs of live organizations that a new one could collide with. */
  taken: ReadonlySet<string>;
}

/** The stored state of a partner that an import depends on. */
export interface ImportState {
  /** Every organization that a row can match. */
  organizations: readonly KnownOrganization[];
  slugs: ImportSlugs;
  /** Number of organizations that the partner may still add; null without a cap. */
  remainingCap: number | null;
}
