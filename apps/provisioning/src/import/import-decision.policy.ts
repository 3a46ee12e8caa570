import { mapYielding } from '@rmm/service-kit';
import { uniqueSlug } from '@rmm/validation';
import type {
  ImportedItemDto,
  ImportErrorCode,
  RowErrorDto,
  SkippedItemDto,
  UpdatedItemDto,
} from './dto/import-results.dto.js';
import { ImportChanges, type GroupWrites } from './import-changes.js';
import { slugOf, type PlannedGroup } from './import-plan.policy.js';
import type { ImportState, KnownOrganization } from './import-state.types.js';

export type ImportMode = 'skip' | 'update';

/** The reason of a match that a second link in one system would merge with another customer. */
export const ALREADY_LINKED = 'The organization is already linked in this system';

/** The column to blame for an error, where it is always the same. */
const FIELDS: Partial<Record<ImportErrorCode, string>> = {
  'annotation-changed': 'expectedAnnotation',
  'match-changed': 'expectedOrganizationId',
  'name-match-unconfirmed': 'expectedAnnotation',
  'soft-deleted-unconfirmed': 'reactivate',
  'match-already-linked': 'externalId',
  'external-id-conflict': 'externalId',
};

/** The decision on one group: the rows to write and the items of the response. */
export interface GroupDecision {
  group: PlannedGroup;
  writes: GroupWrites | null;
  imported: ImportedItemDto[];
  updated: UpdatedItemDto[];
  skipped: SkippedItemDto[];
  errors: RowErrorDto[];
}

/**
 * Turns a plan into writes and response items, subject to the expectations and confirmations in the rows.
 * Pure but for `newId`. Groups are decided in the order of the file, so that the cap accepts the first ones.
 * @see docs/reference/provisioning.md
 */
export function decideImport(
  groups: readonly PlannedGroup[],
  state: ImportState,
  mode: ImportMode,
  newId: () => string,
): Promise<GroupDecision[]> {
  const decider = new Decider(state, mode, newId);
  return mapYielding(groups, (group) => decider.decide(group));
}

/** Refuses all rows of a group with the same error: a group is imported as a whole or not at all. */
export function refuseGroup(
  group: PlannedGroup,
  code: ImportErrorCode,
  error: string,
  field: string | null = FIELDS[code] ?? null,
): GroupDecision {
  const named = field !== null && { field };
  const errors = group.rows.map(({ index, organization }) => ({ index, organization, error, code, ...named }));
  return { group, writes: null, imported: [], updated: [], skipped: [], errors };
}

class Decider {
  private readonly changes: ImportChanges;
  private readonly slugs: Set<string>;
  private remainingCap: number;

  constructor(
    private readonly state: ImportState,
    private readonly mode: ImportMode,
    newId: () => string,
  ) {
    this.changes = new ImportChanges(newId);
    this.slugs = new Set(state.slugs.taken);
    this.remainingCap = state.remainingCap ?? Number.POSITIVE_INFINITY;
  }

  decide(group: PlannedGroup): GroupDecision {
    const refusal = findUnmetExpectation(group);
    if (refusal) return refusal;
    const forced = group.rows.some((row) => row.forceCreate);
    switch (group.annotation) {
      case 'conflict':
        return refuseGroup(
          group,
          'row-conflict',
          group.conflictReason ?? 'The row is in conflict',
          group.conflictField,
        );
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
    if (!this.useCap()) return refuseOverCap(group);
    const slug = this.claimSlug(slugOf(this.state.slugs, group));
    const { writes, organizationId, siteOfRow } = this.changes.create(group, slug);
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
      return refuseGroup(group, 'name-match-unconfirmed', text);
    }
    if (this.isLinkedElsewhere(group)) {
      return refuseGroup(group, 'match-already-linked', ALREADY_LINKED);
    }
    if (this.mode === 'update') return this.update(group, false);
    const writes = this.changes.link(matchOf(group), group.link);
    return { ...skip(group, 'name_match_confirmed', writes !== null), writes };
  }

  private reactivate(group: PlannedGroup): GroupDecision {
    if (group.rows.some((row) => !row.reactivate)) {
      const text = 'The organization was deleted: give reactivate to restore it';
      return refuseGroup(group, 'soft-deleted-unconfirmed', text);
    }
    if (group.matchedBy === 'name' && this.isLinkedElsewhere(group)) {
      return refuseGroup(group, 'match-already-linked', ALREADY_LINKED);
    }
    if (!this.changes.isReactivated(matchOf(group)) && !this.useCap()) return refuseOverCap(group);
    return this.update(group, true);
  }

  private update(group: PlannedGroup, reactivated: boolean): GroupDecision {
    const match = matchOf(group);
    const isReactivation = reactivated && !this.changes.isReactivated(match);
    const slug = isReactivation ? this.claimSlug(match.slug) : match.slug;
    const patchSites = this.mode === 'update';
    const { writes, siteOfRow, createdLink } = this.changes.update(group, match, { isReactivation, slug, patchSites });
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
    return group.link !== null && this.changes.isLinked(matchOf(group), group.link.system);
  }

  private useCap(): boolean {
    if (this.remainingCap <= 0) return false;
    this.remainingCap -= 1;
    return true;
  }

  private claimSlug(base: string): string {
    const slug = uniqueSlug(base, (candidate) => this.slugs.has(candidate));
    this.slugs.add(slug);
    return slug;
  }
}

/** Compares the plan with the preview that the caller saw; checked before anything else. */
function findUnmetExpectation(group: PlannedGroup): GroupDecision | null {
  const { annotation } = group;
  const changed = group.rows.find((row) => row.expectedAnnotation !== null && row.expectedAnnotation !== annotation);
  if (changed) {
    const text = `The row was "${changed.expectedAnnotation}" and is now "${annotation}"`;
    return refuseGroup(group, 'annotation-changed', text);
  }
  const pinned = group.rows.some(
    (row) => row.expectedOrganizationId !== null && row.expectedOrganizationId !== (group.match?.id ?? null),
  );
  return pinned ? refuseGroup(group, 'match-changed', 'The row now matches another organization') : null;
}

function skip(group: PlannedGroup, reason: SkippedItemDto['reason'], createdLink: boolean): GroupDecision {
  const skipped = group.rows.map((row) => ({
    index: row.index,
    organization: row.organization,
    organizationId: matchOf(group).id,
    reason,
    createdLink,
  }));
  return { group, writes: null, imported: [], updated: [], skipped, errors: [] };
}

const refuseOverCap = (group: PlannedGroup): GroupDecision =>
  refuseGroup(group, 'organization-limit-reached', 'The partner has reached its number of organizations');

function matchOf(group: PlannedGroup): KnownOrganization {
  if (!group.match) throw new Error(`group "${group.name}" is ${group.annotation} and has no match`);
  return group.match;
}
