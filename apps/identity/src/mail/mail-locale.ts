import type { User } from '../users/user.js';

/**
 * The language of mails to somebody: its own choice, else that of its partner. Needed for addresses that are not, or no
 * longer, those of an account; for all others the recipient's is looked up as the mail leaves.
 */
export function localeOf({ preferences, memberships }: Pick<User, 'preferences' | 'memberships'>): string {
  const own = preferences.locale;
  if (typeof own === 'string') return own;
  return memberships.find(({ partnerLocale }) => partnerLocale !== null)?.partnerLocale ?? 'en';
}
