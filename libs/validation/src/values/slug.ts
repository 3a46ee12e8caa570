import slugify from '@sindresorhus/slugify';

/** Form of a slug that a caller chooses: lower-case words joined by single hyphens. */
export const SLUG_PATTERN = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

export interface SlugOptions {
  /** In characters; a hyphen at the end is removed as well. */
  maxLength: number;
  /** Used for a name without any letter or digit that can be transliterated. */
  fallback: string;
}

/** Characters of most names, which a transliteration would not change. */
const PLAIN = /^[\w &'(),./-]*$/;

/** Returns the slug of a name: transliterated, lower case, other characters replaced with single hyphens. */
export function toSlug(name: string, { maxLength, fallback }: SlugOptions): string {
  const transliterate = !PLAIN.test(name); // which takes longer than the rest
  const slug = slugify(name, { decamelize: false, customReplacements: [['&', ' ']], transliterate })
    .slice(0, maxLength)
    .replace(/-+$/, '');
  return slug === '' ? fallback : slug;
}

/** Returns the first of `base`, `base-2`, `base-3`, ... that is not taken. */
export function uniqueSlug(base: string, isTaken: (slug: string) => boolean): string {
  if (!isTaken(base)) return base;
  let suffix = 2;
  while (isTaken(`${base}-${suffix}`)) suffix += 1;
  return `${base}-${suffix}`;
}
