import type { RowOrganizationsRepository } from '../src/import-runs/row-organizations.repository.js';

/** Finds no organization that rows refer to by an id. */
export const NO_STORED_ORGANIZATIONS = {
  findNamesById: () => Promise.resolve(new Map()),
  findNamesByLink: () => Promise.resolve(new Map()),
} as unknown as RowOrganizationsRepository;
