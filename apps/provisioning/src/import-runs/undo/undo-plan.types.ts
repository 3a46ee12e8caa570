import type { ImportChange, ImportChangeOutcome } from '../journal/import-change.entity.js';
import type { CreatedOrganizationParts } from '../journal/import-change.types.js';

/** An entry of the journal that has not been undone; `bigint` columns are texts. */
export interface OpenChange extends Pick<
  ImportChange,
  'seq' | 'orgId' | 'resource' | 'action' | 'recordId' | 'digestBefore' | 'digestAfter'
> {
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | CreatedOrganizationParts | null;
}

/** The organization as it is stored now, with what was built on it. */
export interface CurrentOrganization {
  id: string;
  digest: string;
  isDeleted: boolean;
  /** Devices, groups, contacts, PSA connections or a policy. */
  isUsed: boolean;
  sites: { id: string; digest: string }[];
  links: LinkKey[];
  /** Devices, groups, contacts or sites that were created after a time, by the ids of journal entries. */
  usedSince: string[];
}

export interface LinkKey {
  system: string;
  externalId: string;
  connectionId: string | null;
}

export interface CurrentSite {
  id: string;
  digest: string;
  isDeleted: boolean;
  /** Devices, groups or contacts refer to it. */
  isUsed: boolean;
}

export interface CurrentContact {
  id: string;
  digest: string;
}

export interface CurrentRecords {
  organizations: readonly CurrentOrganization[];
  sites: readonly CurrentSite[];
  contacts: readonly CurrentContact[];
}

/** The reasons a record stays as it is. */
export const KEPT_REASONS = ['changed', 'in_use', 'deleted', 'no_access'] as const;
export type KeptReason = (typeof KEPT_REASONS)[number];

export interface ChangeOutcome {
  seq: string;
  outcome: ImportChangeOutcome;
  reason: KeptReason | null;
}

/** The writes that restore the former state, and what becomes of each entry. */
export interface UndoPlan {
  removedOrganizations: string[];
  deletedOrganizations: { id: string; slug: string; status: string; deletedAt: string }[];
  removedLinks: (LinkKey & { orgId: string })[];
  movedLinks: (LinkKey & { orgId: string; formerOrgId: string })[];
  removedSites: string[];
  restoredSites: { id: string; timezone: string; address: unknown; contact: unknown }[];
  removedContacts: string[];
  restoredContacts: ({ id: string } & Record<string, unknown>)[];
  removedContactLinks: { orgId: string; contactId: string; system: string; externalId: string }[];
  outcomes: ChangeOutcome[];
}
