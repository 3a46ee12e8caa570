import { nameKey } from '../organizations/name-key.js';
import { mergeDetails, sameDetails, type SiteAddress, type SiteContact } from '../sites/site-details.js';
import type { ImportRow } from './import-row.js';
import type { KnownOrganization } from './import-state.js';
import type { PlannedGroup } from './plan.js';
import { defaultSite, namedSites, type SiteWish } from './site-wishes.js';

export interface NewOrganization {
  id: string;
  name: string;
  nameKey: string;
  slug: string;
}

export interface RevivedOrganization {
  id: string;
  slug: string;
}

export interface NewLink {
  orgId: string;
  system: string;
  externalId: string;
  /** The link exists on a deleted organization that a separate new one replaces. */
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

/** Everything one group writes. */
export interface GroupWrites {
  organizations: NewOrganization[];
  revived: RevivedOrganization[];
  links: NewLink[];
  newSites: NewSite[];
  sitePatches: SitePatch[];
}

export interface DraftSite extends SiteDetails {
  id: string;
  name: string;
  nameKey: string;
  created: boolean;
}

const DEFAULT_TIMEZONE = 'UTC';
const nothing = (): GroupWrites => ({ organizations: [], revived: [], links: [], newSites: [], sitePatches: [] });

/** The state as the groups decided so far leave it: a later group sees the links and sites of an earlier one. */
export class ImportDraft {
  private readonly systems = new Map<string, Set<string>>();
  private readonly sites = new Map<string, Map<string, DraftSite>>();
  private readonly revived = new Set<string>();

  constructor(private readonly newId: () => string) {}

  isLinked(organization: KnownOrganization, system: string): boolean {
    return this.systemsOf(organization).has(system);
  }

  isReactivated(organization: KnownOrganization): boolean {
    return this.revived.has(organization.id);
  }

  create(group: PlannedGroup, slug: string) {
    const organization = { id: this.newId(), name: group.name, nameKey: group.nameKey, slug };
    const named = namedSites(group.rows);
    const wishes = named.length > 0 ? named : [defaultSite(group.rows, group.name)];
    const sites = wishes.map((wish) => this.newSite(wish));
    const writes = nothing();
    writes.organizations.push(organization);
    writes.newSites.push(...sites.map((site) => toNewSite(site, organization.id)));
    if (group.link) {
      writes.links.push({ orgId: organization.id, ...group.link, moved: group.matchedBy === 'link' });
    }
    const byKey = new Map(sites.map((site) => [site.nameKey, site]));
    const siteOfRow = (row: ImportRow) => rowSite(byKey, row) ?? sites[0];
    return { writes, organizationId: organization.id, siteOfRow };
  }

  /** Stores a link beside those the organization has; null when there is none to store. */
  link(organization: KnownOrganization, link: PlannedGroup['link']): GroupWrites | null {
    if (!link) return null;
    this.systemsOf(organization).add(link.system);
    return { ...nothing(), links: [{ orgId: organization.id, ...link, moved: false }] };
  }

  update(group: PlannedGroup, match: KnownOrganization, how: { revive: boolean; slug: string; patchSites: boolean }) {
    const linked = group.matchedBy === 'name' ? this.link(match, group.link) : null;
    const writes = linked ?? nothing();
    if (how.revive) {
      this.revived.add(match.id);
      writes.revived.push({ id: match.id, slug: how.slug });
    }
    const sites = this.sitesOf(match);
    if (how.patchSites) {
      for (const wish of this.wishesFor(group, match, sites)) this.applyWish(wish, match, sites, writes);
    }
    const only = sites.size === 1 ? [...sites.values()][0] : undefined;
    const fallback = sites.get(match.nameKey) ?? only;
    const siteOfRow = (row: ImportRow) => rowSite(sites, row) ?? (row.site === null ? fallback : undefined);
    return { writes, siteOfRow, createdLink: linked !== null };
  }

  /** Rows that name no site speak of the site named after the organization; it is made only where there is none at all. */
  private wishesFor(group: PlannedGroup, match: KnownOrganization, sites: Map<string, DraftSite>): SiteWish[] {
    const named = namedSites(group.rows);
    if (named.length > 0) return named;
    return sites.size === 0 || sites.has(match.nameKey) ? [defaultSite(group.rows, match.name)] : [];
  }

  private applyWish(
    wish: SiteWish,
    match: KnownOrganization,
    sites: Map<string, DraftSite>,
    writes: GroupWrites,
  ): void {
    const stored = sites.get(wish.nameKey);
    if (!stored) {
      const site = this.newSite(wish);
      sites.set(site.nameKey, site);
      writes.newSites.push(toNewSite(site, match.id));
      return;
    }
    const patched = {
      timezone: wish.timezone ?? stored.timezone,
      address: mergeDetails(stored.address, wish.address),
      contact: mergeDetails(stored.contact, wish.contact),
    };
    if (sameSite(stored, patched)) return;
    Object.assign(stored, patched);
    writes.sitePatches.push({ id: stored.id, orgId: match.id, ...patched });
  }

  private newSite(wish: SiteWish): DraftSite {
    return { ...wish, id: this.newId(), timezone: wish.timezone ?? DEFAULT_TIMEZONE, created: true };
  }

  private systemsOf(organization: KnownOrganization): Set<string> {
    let systems = this.systems.get(organization.id);
    if (!systems) {
      systems = new Set(organization.links.map((link) => link.system));
      this.systems.set(organization.id, systems);
    }
    return systems;
  }

  private sitesOf(organization: KnownOrganization): Map<string, DraftSite> {
    let sites = this.sites.get(organization.id);
    if (!sites) {
      sites = new Map(organization.sites.map((site) => [site.nameKey, { ...site, created: false }]));
      this.sites.set(organization.id, sites);
    }
    return sites;
  }
}

const rowSite = (sites: Map<string, DraftSite>, row: ImportRow): DraftSite | undefined =>
  row.site === null ? undefined : sites.get(nameKey(row.site));

const sameSite = (one: SiteDetails, other: SiteDetails): boolean =>
  one.timezone === other.timezone && sameDetails(one.address, other.address) && sameDetails(one.contact, other.contact);

const toNewSite = ({ id, name, nameKey: key, timezone, address, contact }: DraftSite, orgId: string): NewSite => ({
  id,
  orgId,
  name,
  nameKey: key,
  timezone,
  address,
  contact,
});
