import { freeSlug, slugFor } from '../organizations/slug.js';
import { ImportDraft, type GroupWrites } from './import-draft.js';
import type { ImportErrorCode, ImportedItem, RowError, SkippedItem, UpdatedItem } from './import-result.js';
import type { ImportState, KnownOrganization } from './import-state.js';
import type { PlannedGroup } from './plan.js';

export type ImportMode = 'skip' | 'update';

/** What becomes of one group: what is written, and what its rows are told. */
export interface GroupDecision {
  group: PlannedGroup;
  writes: GroupWrites | null;
  imported: ImportedItem[];
  updated: UpdatedItem[];
  skipped: SkippedItem[];
  errors: RowError[];
}

/**
 * Turns a plan into writes and answers, under the pins and acknowledgements that the rows carry.
 * Pure but for `newId`; groups are decided in the order of the file, so that the cap admits the first ones.
 * @see CONTRACT.md 4.10.2
 */
export function decide(
  groups: readonly PlannedGroup[],
  state: ImportState,
  mode: ImportMode,
  newId: () => string,
): GroupDecision[] {
  const decider = new Decider(state, mode, newId);
  return groups.map((group) => decider.decide(group));
}

/** Every row of a group is told the same refusal: a group is all or nothing. */
export function refusedGroup(group: PlannedGroup, code: ImportErrorCode, error: string): GroupDecision {
  const errors = group.rows.map((row) => ({ index: row.index, organization: row.organization, error, code }));
  return { group, writes: null, imported: [], updated: [], skipped: [], errors };
}

class Decider {
  private readonly draft: ImportDraft;
  private readonly slugs: Set<string>;
  private freePlaces: number;

  constructor(
    state: ImportState,
    private readonly mode: ImportMode,
    newId: () => string,
  ) {
    this.draft = new ImportDraft(newId);
    this.slugs = new Set(state.takenSlugs);
    this.freePlaces = state.freePlaces ?? Number.POSITIVE_INFINITY;
  }

  decide(group: PlannedGroup): GroupDecision {
    const pinned = brokenPin(group);
    if (pinned) return pinned;
    const forced = group.rows.some((row) => row.forceCreate);
    switch (group.annotation) {
      case 'conflict':
        return refusedGroup(group, 'row-conflict', group.conflictReason ?? 'The row is in conflict');
      case 'create':
        return this.create(group);
      case 'link-match':
        return this.mode === 'update' ? this.update(group, false) : skip(group, 'already_linked', false);
      case 'name-match':
        return forced ? this.create(group) : this.confirmName(group);
      case 'matched-soft-deleted':
        return forced ? this.create(group) : this.reactivate(group);
    }
  }

  private create(group: PlannedGroup): GroupDecision {
    if (!this.takePlace()) return overTheCap(group);
    const slug = this.claimSlug(slugFor(group.name));
    const { writes, organizationId, siteOfRow } = this.draft.create(group, slug);
    const imported = group.rows.map((row) => ({
      index: row.index,
      organization: row.organization,
      organizationId,
      siteId: siteOfRow(row).id,
      siteName: siteOfRow(row).name,
      createdOrganization: true,
      createdLink: group.link !== null,
      slug,
    }));
    return { group, writes, imported, updated: [], skipped: [], errors: [] };
  }

  private confirmName(group: PlannedGroup): GroupDecision {
    if (group.rows.some((row) => row.expectedAnnotation !== 'name-match')) {
      const text = 'An organization of this name exists: confirm it by expectedAnnotation "name-match"';
      return refusedGroup(group, 'name-match-unconfirmed', text);
    }
    if (this.isLinkedElsewhere(group)) {
      return refusedGroup(group, 'match-already-linked', 'The organization is already linked in this system');
    }
    if (this.mode === 'update') return this.update(group, false);
    const writes = this.draft.link(matchOf(group), group.link);
    return { ...skip(group, 'name_match_confirmed', writes !== null), writes };
  }

  private reactivate(group: PlannedGroup): GroupDecision {
    if (group.rows.some((row) => !row.reactivate)) {
      const text = 'The organization was deleted: give reactivate to restore it';
      return refusedGroup(group, 'soft-deleted-unconfirmed', text);
    }
    if (group.matchedBy === 'name' && this.isLinkedElsewhere(group)) {
      return refusedGroup(group, 'match-already-linked', 'The organization is already linked in this system');
    }
    if (!this.draft.isReactivated(matchOf(group)) && !this.takePlace()) return overTheCap(group);
    return this.update(group, true);
  }

  private update(group: PlannedGroup, reactivated: boolean): GroupDecision {
    const match = matchOf(group);
    const revive = reactivated && !this.draft.isReactivated(match);
    const slug = revive ? this.claimSlug(match.slug) : match.slug;
    const patchSites = this.mode === 'update';
    const { writes, siteOfRow, createdLink } = this.draft.update(group, match, { revive, slug, patchSites });
    const updated = group.rows.map((row) => {
      const site = siteOfRow(row);
      return {
        index: row.index,
        organization: row.organization,
        organizationId: match.id,
        siteId: site?.id ?? null,
        siteName: site?.name ?? null,
        createdSite: site?.created ?? false,
        createdLink,
        reactivated,
      };
    });
    return { group, writes, imported: [], updated, skipped: [], errors: [] };
  }

  private isLinkedElsewhere(group: PlannedGroup): boolean {
    return group.link !== null && this.draft.isLinked(matchOf(group), group.link.system);
  }

  private takePlace(): boolean {
    if (this.freePlaces <= 0) return false;
    this.freePlaces -= 1;
    return true;
  }

  private claimSlug(base: string): string {
    const slug = freeSlug(base, (candidate) => this.slugs.has(candidate));
    this.slugs.add(slug);
    return slug;
  }
}

/** What the caller saw in the preview must still be true, before anything else is looked at. */
function brokenPin(group: PlannedGroup): GroupDecision | null {
  const { annotation } = group;
  const changed = group.rows.find((row) => row.expectedAnnotation !== null && row.expectedAnnotation !== annotation);
  if (changed) {
    const text = `The row was "${changed.expectedAnnotation}" and is now "${annotation}"`;
    return refusedGroup(group, 'annotation-changed', text);
  }
  const pinned = group.rows.some(
    (row) => row.expectedOrganizationId !== null && row.expectedOrganizationId !== (group.match?.id ?? null),
  );
  return pinned ? refusedGroup(group, 'match-changed', 'The row now means another organization') : null;
}

function skip(group: PlannedGroup, reason: SkippedItem['reason'], createdLink: boolean): GroupDecision {
  const skipped = group.rows.map((row) => ({
    index: row.index,
    organization: row.organization,
    organizationId: matchOf(group).id,
    reason,
    createdLink,
  }));
  return { group, writes: null, imported: [], updated: [], skipped, errors: [] };
}

const overTheCap = (group: PlannedGroup): GroupDecision =>
  refusedGroup(group, 'organization-limit-reached', 'The partner has reached its number of organizations');

function matchOf(group: PlannedGroup): KnownOrganization {
  if (!group.match) throw new Error(`group "${group.name}" is ${group.annotation} and has no match`);
  return group.match;
}
