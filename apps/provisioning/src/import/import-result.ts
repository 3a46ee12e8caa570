/** The lists that an import commit answers with. @see CONTRACT.md 4.10.2 */
interface RowItem {
  index: number;
  organization: string;
  organizationId: string;
  createdLink: boolean;
}

export interface ImportedItem extends RowItem {
  siteId: string;
  siteName: string;
  createdOrganization: boolean;
  slug: string;
}

export interface UpdatedItem extends RowItem {
  siteId: string | null;
  siteName: string | null;
  createdSite: boolean;
  reactivated: boolean;
  warning?: string;
}

export interface SkippedItem extends RowItem {
  reason: 'already_linked' | 'name_match_confirmed' | 'created_concurrently';
  warning?: string;
}

export type ImportErrorCode =
  | 'row-conflict'
  | 'annotation-changed'
  | 'match-changed'
  | 'name-match-unconfirmed'
  | 'soft-deleted-unconfirmed'
  | 'match-already-linked'
  | 'external-id-conflict'
  | 'organization-limit-reached'
  | 'write-failed';

export interface RowError {
  index: number;
  organization?: string;
  error: string;
  code: ImportErrorCode;
}
