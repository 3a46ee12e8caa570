const SLUG_LENGTH = 90;
const SLUG_FALLBACK = 'org';

/** What a slug looks like when a caller chooses it: lower-case words joined by single hyphens. */
export const SLUG_PATTERN = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/**
 * The slug a name asks for: lower case, runs of other characters become one hyphen, at most 90 characters.
 * @see CONTRACT.md 4.10.2
 */
export function slugFor(name: string): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, SLUG_LENGTH)
    .replace(/-+$/, '');
  return slug === '' ? SLUG_FALLBACK : slug;
}

/** The first of `base`, `base-2`, `base-3`, ... that nobody has. */
export function freeSlug(base: string, isTaken: (slug: string) => boolean): string {
  if (!isTaken(base)) return base;
  let suffix = 2;
  while (isTaken(`${base}-${suffix}`)) suffix += 1;
  return `${base}-${suffix}`;
}

const withoutNumber = (slug: string): string => slug.replace(/-[0-9]+$/, '');

/**
 * The values of the column `slug_base` under which every slug that can stand in the way of these candidates is found:
 * the candidate itself is stored under its own name without a number, its numbered variants under the candidate.
 */
export const slugBases = (candidates: Iterable<string>): string[] => [
  ...new Set([...candidates].flatMap((candidate) => [candidate, withoutNumber(candidate)])),
];
