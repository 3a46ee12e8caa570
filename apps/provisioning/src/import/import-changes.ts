import { nameKey } from '../organizations/name-key.js';
import { mergeDetails, sameDetails, type SiteAddress, type SiteContact } from '../sites/site-details.mapper.js';
import type { PlannedGroup } from './import-plan.policy.js';
import type { ImportRow } from './import-rows.js';
import type { KnownOrganization } from './import-state.types.js';
import { defaultSite, namedSites, type RequestedSite } from './requested-sites.js';

export interface NewOrganization {
  id: string;
  name: string;
  nameKey: string;
  slug: string;
}

export interface ReactivatedOrganization {
  id: string;
  slug: string;
}

export interface NewLink {
  orgId: string;
  system: string;
  externalId: string;
  /** True when the link is moved from a deleted organization that a new one replaces. */
  moved: boolean;
}

export interface SiteDetails {
  timezone: string;
  address: SiteAddress | null;
  contact: SiteContact | null;
}

export interface NewSite extends SiteDetails {
  id: string;
  orgId: string;
  name: string;
  nameKey: string;
}

export interface SitePatch extends SiteDetails {
  id: string;
  orgId: string;
}

/** The rows that one group writes. */
export interface GroupWrites {
  organizations: NewOrganization[];
  reactivated: ReactivatedOrganization[];
  links: NewLink[];
  newSites: NewSite[];
  sitePatches: SitePatch[];
}

export interface PendingSite extends SiteDetails {
  id: string;
  name: string;
  nameKey: string;
  created: boolean;
}

const DEFAULT_TIMEZONE = 'UTC';
const noWrites = (): GroupWrites => ({ organizations: [], reactivated: [], links: [], newSites: [], sitePatches: [] });

/** Collects the changes of the groups decided so far, so that a later group sees the links and sites of an earlier one. */
export class ImportChanges {
  private readonly systems = new Map<string, Set<string>>();
  private readonly sites = new Map<string, Map<string, PendingSite>>();
  private readonly reactivated = new Set<string>();

  constructor(private readonly newId: () => string) {}

  isLinked(organization: KnownOrganization, system: string): boolean {
    return this.systemsOf(organization).has(system);
  }

  isReactivated(organization: KnownOrganization): boolean {
    return this.reactivated.has(organization.id);
  }

  create(group: PlannedGroup, slug: string) {
    const organization = { id: this.newId(), name: group.name, nameKey: group.nameKey, slug };
    const named = namedSites(group.rows);
    const requested = named.length > 0 ? named : [defaultSite(group.rows, group.name)];
    const sites = requested.map((site) => this.newSite(site));
    const writes = noWrites();
    writes.organizations.push(organization);
    writes.newSites.push(...sites.map((site) => toNewSite(site, organization.id)));
    if (group.link) {
      writes.links.push({ orgId: organization.id, ...group.link, moved: group.matchedBy === 'link' });
    }
    const byKey = new Map(sites.map((site) => [site.nameKey, site]));
    const siteOfRow = (row: ImportRow) => rowSite(byKey, row) ?? sites[0];
    return { writes, organizationId: organization.id, siteOfRow };
  }

  /** Adds a link to those of the organization; null when there is none to add. */
  link(organization: KnownOrganization, link: PlannedGroup['link']): GroupWrites | null {
    if (!link) return null;
    this.systemsOf(organization).add(link.system);
    return { ...noWrites(), links: [{ orgId: organization.id, ...link, moved: false }] };
  }

  update(
    group: PlannedGroup,
    match: KnownOrganization,
    options: { isReactivation: boolean; slug: string; patchSites: boolean },
  ) {
    const linked = group.matchedBy === 'name' ? this.link(match, group.link) : null;
    const writes = linked ?? noWrites();
    if (options.isReactivation) {
      this.reactivated.add(match.id);
      writes.reactivated.push({ id: match.id, slug: options.slug });
    }
    const sites = this.sitesOf(match);
    if (options.patchSites) {
      for (const site of this.sitesFor(group, match, sites)) this.applySite(site, match, sites, writes);
    }
    const only = sites.size === 1 ? [...sites.values()][0] : undefined;
    const fallback = sites.get(match.nameKey) ?? only;
    const siteOfRow = (row: ImportRow) => rowSite(sites, row) ?? (row.site === null ? fallback : undefined);
    return { writes, siteOfRow, createdLink: linked !== null };
  }

  /**
   * Rows without a site refer to the site with the name of the organization, which is created only for an organization
   * without sites.
   */
  private sitesFor(group: PlannedGroup, match: KnownOrganization, sites: Map<string, PendingSite>): RequestedSite[] {
    const named = namedSites(group.rows);
    if (named.length > 0) return named;
    return sites.size === 0 || sites.has(match.nameKey) ? [defaultSite(group.rows, match.name)] : [];
  }

  private applySite(
    requested: RequestedSite,
    match: KnownOrganization,
    sites: Map<string, PendingSite>,
    writes: GroupWrites,
  ): void {
    const stored = sites.get(requested.nameKey);
    if (!stored) {
      const site = this.newSite(requested);
      sites.set(site.nameKey, site);
      writes.newSites.push(toNewSite(site, match.id));
      return;
    }
    const patched = {
      timezone: requested.timezone ?? stored.timezone,
      address: mergeDetails(stored.address, requested.address),
      contact: mergeDetails(stored.contact, requested.contact),
    };
    if (sameSite(stored, patched)) return;
    Object.assign(stored, patched);
    writes.sitePatches.push({ id: stored.id, orgId: match.id, ...patched });
  }

  private newSite(requested: RequestedSite): PendingSite {
    return { ...requested, id: this.newId(), timezone: requested.timezone ?? DEFAULT_TIMEZONE, created: true };
  }

  private systemsOf(organization: KnownOrganization): Set<string> {
    let systems = this.systems.get(organization.id);
    if (!systems) {
      systems = new Set(organization.links.map((link) => link.system));
      this.systems.set(organization.id, systems);
    }
    return systems;
  }

  private sitesOf(organization: KnownOrganization): Map<string, PendingSite> {
    let sites = this.sites.get(organization.id);
    if (!sites) {
      sites = new Map(organization.sites.map((site) => [site.nameKey, { ...site, created: false }]));
      this.sites.set(organization.id, sites);
    }
    return sites;
  }
}

const rowSite = (sites: Map<string, PendingSite>, row: ImportRow): PendingSite | undefined =>
  row.site === null ? undefined : sites.get(nameKey(row.site));

const sameSite = (one: SiteDetails, other: SiteDetails): boolean =>
  one.timezone === other.timezone && sameDetails(one.address, other.address) && sameDetails(one.contact, other.contact);

const toNewSite = ({ id, name, nameKey: key, timezone, address, contact }: PendingSite, orgId: string): NewSite => ({
  id,
  orgId,
  name,
  nameKey: key,
  timezone,
  address,
  contact,
});
