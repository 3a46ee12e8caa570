/** The effect of a run on one record. An organization that it created is one change with its sites and links. */
export type ImportChangeAction = 'create' | 'update' | 'reactivate';

export type ImportedResource = 'organization' | 'organization_link' | 'site' | 'contact' | 'contact_link';

/** An entry of the journal of a run. */
export interface NewImportChange {
  orgId: string;
  resource: ImportedResource;
  action: ImportChangeAction;
  /** The record; for a link the organization or contact that has it. */
  recordId: string;
  /** The former values of what an update replaced. */
  before?: object | null;
  /** The key of a link; the sites and links of a created organization. */
  after?: object | null;
  /** The contents before and after the change. */
  digestBefore?: string | null;
  digestAfter?: string | null;
}

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
