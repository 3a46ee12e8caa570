import { toSlug } from '@rmm/validation';

const OPTIONS = { maxLength: 90, fallback: 'org' };

/** Returns the slug for the name of an organization. */
export const organizationSlug = (name: string): string => toSlug(name, OPTIONS);
