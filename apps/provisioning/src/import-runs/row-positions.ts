import type { ContactRow } from '../contacts/import/contact-rows.js';
import { linkKey } from '../import/import-plan.policy.js';
import type { ImportRow } from '../import/import-rows.js';
import { nameKey } from '../organizations/name-key.js';
import { FILE_LIMITS } from './files/file.limits.js';

/**
 * Assigns to each row the position in which it is imported, so that rows that decide about each other have the same one:
 * rows of one external id or of one name of an organization, and contacts of one organization. A row that refers to a stored
 * organization by an id has the position of the rows with the name of that organization. The position is the index of the
 * first of them, so that the order of the file is kept.
 */
export class RowPositions {
  private readonly positions = new Map<string, number>();
  private readonly counts = new Map<number, number>();

  /**
   * @param storedName  key of the name of the organization that has the external id
   * @returns null when the organization has too many rows to be imported together
   */
  assignOrganization(row: ImportRow, storedName?: string): number | null {
    const keys = [`name ${row.nameKey}`];
    if (storedName !== undefined) keys.unshift(`name ${storedName}`);
    if (row.externalId !== null) keys.unshift(`link ${linkKey(row.externalSystem, row.externalId)}`);
    return this.assign(keys, row.index);
  }

  /** @param storedName  key of the name of the organization that has the id. See `assignOrganization`. */
  assignContact({ index, organization, organizationId }: ContactRow, storedName?: string): number | null {
    const isKnown = organizationId === null || storedName !== undefined;
    return this.assign([isKnown ? `name ${storedName ?? nameKey(organization ?? '')}` : organizationId], index);
  }

  private assign(keys: readonly string[], index: number): number | null {
    const known = keys.map((key) => this.positions.get(key)).find((position) => position !== undefined);
    const position = known ?? index;
    for (const key of keys) if (!this.positions.has(key)) this.positions.set(key, position);
    const count = (this.counts.get(position) ?? 0) + 1;
    this.counts.set(position, count);
    return count > FILE_LIMITS.rowsPerOrganization ? null : position;
  }
}
