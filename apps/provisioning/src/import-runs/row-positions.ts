import type { ContactRow } from '../contacts/import/contact-rows.js';
import type { ImportRow } from '../import/import-rows.js';
import { nameKey } from '../organizations/name-key.js';
import { FILE_LIMITS } from './files/file-limits.js';

/**
 * Assigns to each row the position in which it is imported, so that rows that decide about each other have the same one:
 * rows of one external id or of one name of an organization, and contacts of one organization. It is the index of the first
 * of them, so that the order of the file is kept.
 */
export class RowPositions {
  private readonly positions = new Map<string, number>();
  private readonly counts = new Map<number, number>();

  /** @returns null when the organization has too many rows to be imported together */
  assignOrganization({ index, nameKey: key, externalId, externalSystem }: ImportRow): number | null {
    const keys = [`name ${key}`];
    if (externalId !== null) keys.unshift(`link ${JSON.stringify([externalSystem, externalId])}`);
    return this.assign(keys, index);
  }

  assignContact({ index, organization, organizationId }: ContactRow): number | null {
    return this.assign([organizationId ?? `name ${nameKey(organization ?? '')}`], index);
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
