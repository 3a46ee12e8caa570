import type { User } from '../users/user.types.js';

/**
 * Returns the language of mails to a user: its own choice, else that of its partner. Needed for addresses that are not, or
 * no longer, those of an account; for all others the language is looked up when the mail is sent.
 */
export function localeOf({ preferences, memberships }: Pick<User, 'preferences' | 'memberships'>): string {
  const own = preferences.locale;
  if (typeof own === 'string') return own;
  return memberships.find(({ partnerLocale }) => partnerLocale !== null)?.partnerLocale ?? 'en';
}
