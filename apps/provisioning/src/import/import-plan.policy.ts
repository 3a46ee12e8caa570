import { forEachYielding, mapYielding } from '@rmm/service-kit';
import { uniqueSlug } from '@rmm/validation';
import type { Annotation, ImportRow } from './import-rows.js';
import type { ImportSlugs, KnownOrganization } from './import-state.types.js';

/** Rows of one organization, which are imported together or not at all. */
export interface PlannedGroup {
  rows: ImportRow[];
  /** The name in the first row. */
  name: string;
  nameKey: string;
  /** The external identity to store as a link; null when the rows name none. */
  link: { system: string; externalId: string } | null;
  annotation: Annotation;
  match: KnownOrganization | null;
  matchedBy: 'link' | 'name' | null;
  /** True when the match has another link in the same system, or gets it by an earlier group: one more would merge two customers. */
  matchLinkedToSystem: boolean;
  /** The slug of the match, or the one proposed for a new organization; null for a conflict. */
  slug: string | null;
  conflictReason: string | null;
  /** The column to blame for the conflict. */
  conflictField: string | null;
}

/** Returns one key for a pair of system and external id. */
export const linkKey = (system: string, externalId: string): string => JSON.stringify([system, externalId]);

const rowNumbers = (rows: readonly ImportRow[]): string => rows.map((row) => row.index).join(', ');

/**
 * Groups rows by organization and determines the effect of an import on each group, without blocking the event loop.
 * A pure function, shared by preview and commit: the same rows and organizations give the same plan.
 * @param organizations  every organization that a row can match
 * @see docs/reference/provisioning.md
 */
export async function planImport(
  rows: readonly ImportRow[],
  organizations: readonly KnownOrganization[],
): Promise<PlannedGroup[]> {
  const known = new OrganizationIndex(organizations);
  const groups = await mapYielding(groupRows(rows), (group) => annotate(group, known));
  refuseAmbiguousNames(groups);
  markSecondLinks(groups);
  return groups;
}

function groupRows(rows: readonly ImportRow[]): ImportRow[][] {
  const groups = new Map<string, ImportRow[]>();
  for (const row of rows) {
    const key = row.externalId === null ? `name ${row.nameKey}` : `link ${linkKey(row.externalSystem, row.externalId)}`;
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return [...groups.values()];
}

/** Finds the organizations of a state by link and by name. */
class OrganizationIndex {
  private readonly byLink = new Map<string, KnownOrganization>();
  private readonly byName = new Map<string, KnownOrganization[]>();

  constructor(organizations: readonly KnownOrganization[]) {
    for (const organization of organizations) {
      for (const link of organization.links) this.byLink.set(linkKey(link.system, link.externalId), organization);
      const sameName = this.byName.get(organization.nameKey);
      if (sameName) sameName.push(organization);
      else this.byName.set(organization.nameKey, [organization]);
    }
  }

  findByLink(system: string, externalId: string): KnownOrganization | undefined {
    return this.byLink.get(linkKey(system, externalId));
  }

  listByName(key: string, deleted: boolean): KnownOrganization[] {
    return (this.byName.get(key) ?? []).filter((organization) => organization.deleted === deleted);
  }
}

function annotate(rows: ImportRow[], known: OrganizationIndex): PlannedGroup {
  const first = rows[0];
  const key = first.nameKey;
  const link = first.externalId === null ? null : { system: first.externalSystem, externalId: first.externalId };
  const group: PlannedGroup = {
    rows,
    name: first.organization,
    nameKey: key,
    link,
    annotation: 'create',
    match: null,
    matchedBy: null,
    matchLinkedToSystem: false,
    slug: null,
    conflictReason: null,
    conflictField: null,
  };
  if (rows.some((row) => row.nameKey !== key)) {
    const reason = `rows ${rowNumbers(rows)} give one external id to organizations of different names`;
    return conflict(group, reason, 'externalId');
  }
  const linked = link && known.findByLink(link.system, link.externalId);
  if (linked) return matched(group, linked, 'link');
  const live = known.listByName(key, false);
  if (live.length > 1) return conflict(group, `${live.length} organizations have this name`, 'organization');
  const match = live[0] ?? known.listByName(key, true)[0];
  return match ? matched(group, match, 'name') : group;
}

function conflict(group: PlannedGroup, conflictReason: string, conflictField: string): PlannedGroup {
  const unmatched = { match: null, matchedBy: null, slug: null } as const;
  return { ...group, ...unmatched, annotation: 'conflict', conflictReason, conflictField };
}

function matched(group: PlannedGroup, match: KnownOrganization, matchedBy: 'link' | 'name'): PlannedGroup {
  const annotation = match.deleted ? 'matched-soft-deleted' : matchedBy === 'link' ? 'link-match' : 'name-match';
  const matchLinkedToSystem = matchedBy === 'name' && isLinkedTo(match, group.link?.system);
  return { ...group, annotation, match, matchedBy, matchLinkedToSystem, slug: match.slug };
}

const isLinkedTo = (organization: KnownOrganization, system: string | undefined): boolean =>
  organization.links.some((link) => link.system === system);

/** Refuses a new name with and without an external id in one file: it may be one customer or two. */
function refuseAmbiguousNames(groups: PlannedGroup[]): void {
  const identified = new Map<string, PlannedGroup>();
  for (const group of groups) {
    if (group.link && group.annotation === 'create') identified.set(group.nameKey, group);
  }
  groups.forEach((group, index) => {
    if (group.link || group.annotation !== 'create') return;
    const other = identified.get(group.nameKey);
    if (!other) return;
    const reason = `rows ${rowNumbers(other.rows)} create an organization of this name with an external id`;
    groups[index] = conflict(group, reason, 'organization');
  });
}

/** Marks matches by name that would get another link in a system in which an earlier group links them. */
function markSecondLinks(groups: readonly PlannedGroup[]): void {
  const linked = new Set<string>();
  for (const group of groups) {
    if (group.matchedBy !== 'name' || !group.match || !group.link || group.matchLinkedToSystem) continue;
    const key = linkKey(group.link.system, group.match.id);
    group.matchLinkedToSystem = linked.has(key);
    linked.add(key);
  }
}

/** Sets the slugs that a commit would give the new organizations, for the response of a preview. */
export function proposeSlugs(groups: readonly PlannedGroup[], slugs: ImportSlugs): Promise<void> {
  const taken = new Set(slugs.taken);
  return forEachYielding(groups, (group) => {
    if (group.annotation !== 'create') return;
    group.slug = uniqueSlug(slugOf(slugs, group), (slug) => taken.has(slug));
    taken.add(group.slug);
  });
}

/** Returns the slug of the name of a group, before a number is added. */
export function slugOf({ byName }: ImportSlugs, { name }: PlannedGroup): string {
  const slug = byName.get(name);
  if (slug === undefined) throw new Error('the slugs of an import include those of all its names');
  return slug;
}
