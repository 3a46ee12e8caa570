/** A name as it is stored: composed (NFC) and without blanks at its ends. */
export const tidyName = (name: string): string => name.normalize('NFC').trim();

/**
 * What two names are compared by: composed, trimmed, inner blanks collapsed, lower-cased.
 * Stored beside the name, so that the database and the import planner never disagree about what is equal.
 * @see CONTRACT.md 4.10.2
 */
export const nameKey = (name: string): string => tidyName(name).replace(/\s+/gu, ' ').toLowerCase();
