import type { NewImportChange } from '../../import-runs/journal/import-change.types.js';
import type { WrittenContacts } from './contact-import.repository.js';
import type { ContactDecision, PlannedContact } from './contact-plan.policy.js';
import type { ContactImportResultDto, PreviewedContactRowDto } from './dto/contact-import-results.dto.js';

/** Maps a plan to the row as sent, with the effect on it. */
export function toPreviewedRow(given: unknown, planned: PlannedContact): PreviewedContactRowDto {
  const { row, annotation, organization, siteId, match, isMatchNew, refusal, warning } = planned;
  return {
    ...(given as object),
    index: row.index,
    annotation,
    organizationId: organization?.id ?? null,
    ...(organization && {
      organizationName: organization.name,
      organisationName: organization.name, // cspell:disable-line
    }),
    siteId,
    contactId: isMatchNew ? null : (match?.id ?? null),
    ...(match && { matchedContactName: match.name, matchedContactEmail: match.email }),
    ...(refusal && { conflictReason: refusal.text }),
    ...(refusal?.field !== undefined && { conflictField: refusal.field }),
    ...(warning !== null && { warning }),
  };
}

/** The lists of a response, and those of one chunk of a file. */
export type ContactResultLists = Omit<ContactImportResultDto, 'warnings' | 'runId'>;

/** Maps decisions to the lists of the response, each in the order of the rows. */
export function toContactImportResult(decisions: readonly ContactDecision[]): ContactResultLists {
  const lists: ContactResultLists = { imported: [], updated: [], skipped: [], errors: [] };
  for (const { result } of decisions) (lists[result.list] as (typeof result.item)[]).push(result.item);
  return lists;
}

/** Maps written rows to the entries of the journal. */
export function contactChanges({ created, updated, links }: WrittenContacts): NewImportChange[] {
  const changes: NewImportChange[] = [];
  for (const { id, orgId, digest } of created) {
    changes.push({ orgId, resource: 'contact', action: 'create', recordId: id, digestAfter: digest });
  }
  for (const { id, orgId, before, digestBefore, digest } of updated) {
    const digests = { digestBefore, digestAfter: digest };
    changes.push({ orgId, resource: 'contact', action: 'update', recordId: id, before, ...digests });
  }
  const isCreated = new Set(created.map(({ id }) => id));
  for (const { orgId, contactId, system, externalId } of links) {
    if (isCreated.has(contactId)) continue; // the links of a contact go with it
    const after = { system, externalId };
    changes.push({ orgId, resource: 'contact_link', action: 'create', recordId: contactId, after });
  }
  return changes;
}
