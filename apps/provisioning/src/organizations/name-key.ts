/** Returns a name as it is stored: composed (NFC) and trimmed. */
export const trimName = (name: string): string => name.normalize('NFC').trim();

/**
 * Returns the key by which two names are compared: composed, trimmed, inner white space collapsed, lower case.
 * It is stored next to the name, so that the database and the import planner agree which names are equal.
 */
export const nameKey = (name: string): string => trimName(name).replace(/\s+/gu, ' ').toLowerCase();
