import { createHmac } from 'node:crypto';
import type { AuditRow } from './audit-chain.js';

/** Fields of details that may contain the name or an address. */
const NAME_FIELD = /(?:name|mail|slug|phone|address|contact)s?$/i;

const PREFIX = 'name:';
const PSEUDONYM = /^name:[\w-]{43}$/;

type NamedFields = Pick<AuditRow, 'actorEmail' | 'resourceName' | 'ipAddress' | 'details'>;

/**
 * Returns the pseudonym of a name in one organization: a commitment, since the same name always has the same one, and no
 * other name has it; without the salt it cannot be found by trying names.
 */
export const pseudonymOf = (salt: Buffer, name: string): string =>
  `${PREFIX}${createHmac('sha256', salt).update(name).digest('base64url')}`;

/** Returns whether a text has the form of a pseudonym. */
export const isPseudonym = (text: string): boolean => PSEUDONYM.test(text);

/** Returns the entry with every name replaced. */
export function replaceNames<T extends NamedFields>(row: T, replace: (name: string) => string): T {
  const optional = (text: string | null) => (text === null ? null : replace(text));
  return {
    ...row,
    actorEmail: optional(row.actorEmail),
    resourceName: optional(row.resourceName),
    ipAddress: optional(row.ipAddress),
    details: replaceIn(row.details, false, replace) as Record<string, unknown>,
  };
}

/** Returns the names of an entry, or its pseudonyms once they are replaced. */
export function listNames(row: NamedFields): string[] {
  const names: string[] = [];
  replaceNames(row, (name) => {
    names.push(name);
    return name;
  });
  return names;
}

/** Replaces texts of fields with the name of a name, also inside of lists and objects of such a field. */
function replaceIn(value: unknown, isName: boolean, replace: (name: string) => string): unknown {
  if (typeof value === 'string') return isName ? replace(value) : value;
  if (Array.isArray(value)) return value.map((item) => replaceIn(item, isName, replace));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, replaceIn(member, isName || NAME_FIELD.test(key), replace)]),
  );
}
