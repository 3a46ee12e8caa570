import type { ImportChange } from './import-change.entity.js';

/** A change that is recorded; absent values are null. */
export type NewImportChange = Pick<ImportChange, 'orgId' | 'resource' | 'action' | 'recordId'> &
  Partial<Pick<ImportChange, 'before' | 'after' | 'digestBefore' | 'digestAfter'>>;

/** The key of a link of an organization. */
export interface ImportedLink {
  system: string;
  externalId: string;
  connectionId: string | null;
  /** The deleted organization from which the link was moved; null for a new link. */
  formerOrgId: string | null;
}

/** The parts of a created organization. */
export interface CreatedOrganizationParts {
  sites: { id: string; digest: string }[];
  links: ImportedLink[];
}

/** The run whose changes are recorded, and its partner. */
export interface JournalScope {
  runId: string;
  partnerId: string;
}
