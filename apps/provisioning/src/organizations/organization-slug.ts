import { toSlug } from '@rmm/validation';

const OPTIONS = { maxLength: 90, fallback: 'org' };

/** Returns the slug for the name of an organization. */
export const organizationSlug = (name: string): string => toSlug(name, OPTIONS);

const withoutNumber = (slug: string): string => slug.replace(/-[0-9]+$/, '');

/**
 * Returns the values of the column `slug_base` under which every slug that may collide with the candidates is stored: a
 * candidate under its form without a number, its numbered variants under the candidate.
 */
export const slugBases = (candidates: Iterable<string>): string[] => [
  ...new Set([...candidates].flatMap((candidate) => [candidate, withoutNumber(candidate)])),
];
