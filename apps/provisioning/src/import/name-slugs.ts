import { mapYielding } from '@rmm/service-kit';
import { organizationSlug } from '../organizations/organization-slug.js';
import type { ImportRow } from './import-rows.js';

/** The slug of each name of organizations, before a number is added. */
export type NameSlugs = ReadonlyMap<string, string>;

/** Makes the slugs of the names of rows without blocking the event loop; call it before the lock of the partner is taken. */
export async function toNameSlugs(rows: readonly Pick<ImportRow, 'organization'>[]): Promise<NameSlugs> {
  const names = new Set(rows.map((row) => row.organization));
  return new Map(await mapYielding([...names], (name): [string, string] => [name, organizationSlug(name)]));
}
