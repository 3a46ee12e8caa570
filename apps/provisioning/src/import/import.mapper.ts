import type { ImportResultDto, PreviewedRowDto } from './dto/import-results.dto.js';
import type { GroupDecision } from './import-decision.policy.js';
import type { PlannedGroup } from './import-plan.policy.js';

/** Maps a plan to the rows as sent, in their order, each with the effect on it. */
export function toPreviewedRows(given: readonly unknown[], groups: readonly PlannedGroup[]): PreviewedRowDto[] {
  const rows: PreviewedRowDto[] = [];
  for (const group of groups) {
    const { annotation, slug, match, matchedBy, matchLinkedToSystem, conflictReason, conflictField } = group;
    for (const { index } of group.rows) {
      rows[index] = {
        ...(given[index] as object),
        index,
        annotation,
        slug,
        organizationId: match?.id ?? null,
        ...(match && { matchedOrganizationName: match.name }),
        ...(matchedBy && { matchedBy }),
        ...(matchedBy === 'name' && { matchedOrganizationLinkedToSystem: matchLinkedToSystem }),
        ...(conflictReason !== null && { conflictReason }),
        ...(conflictField !== null && { conflictField }),
      };
    }
  }
  return rows;
}

/** The lists of a response, and those of one chunk of a file. */
export type ImportLists = Omit<ImportResultDto, 'warnings' | 'runId'>;

/** Maps decisions to the lists of the response, each in the order of the rows. */
export const toImportResult = (decisions: readonly GroupDecision[]): ImportLists => ({
  imported: decisions.flatMap((decision) => decision.imported).sort(byIndex),
  updated: decisions.flatMap((decision) => decision.updated).sort(byIndex),
  skipped: decisions.flatMap((decision) => decision.skipped).sort(byIndex),
  errors: decisions.flatMap((decision) => decision.errors).sort(byIndex),
});

const byIndex = (one: { index: number }, other: { index: number }): number => one.index - other.index;
