import { ScimError, scimPatch, type ScimPatchOperation } from 'scim-patch';
import { readOperations, splitPath, type PatchOperation } from './patch-operations.js';
import { flagOf, type ScimObject } from './scim-attributes.js';
import type { ScimUser } from './scim-user.entity.js';
import { USER_SCHEMA } from './scim.config.js';
import { ScimBadRequest, type ScimType } from './scim.errors.js';
import { readUserAttributes, type UserAttributes } from './user-attributes.js';

/** Attributes that are stored, by their names in lower case, with their own attributes. No other name reaches the patch. */
const ATTRIBUTES: Readonly<Record<string, { name: string; subs: readonly string[] }>> = {
  username: { name: 'userName', subs: [] },
  externalid: { name: 'externalId', subs: [] },
  active: { name: 'active', subs: [] },
  displayname: { name: 'displayName', subs: [] },
  name: { name: 'name', subs: ['givenName', 'familyName', 'formatted'] },
  emails: { name: 'emails', subs: ['value', 'type', 'primary'] },
};
/** Filters of addresses that the documented providers send. */
const EMAIL_SELECTOR = /^(?:type|value) eq "[^"\\]*"$|^primary eq (?:true|false)$/i;
const READ_ONLY = new Set(['id', 'meta', 'groups']);

type LocatedOperation = PatchOperation & { isPartOfValue: boolean };

/**
 * Applies the operations of a PATCH to a user and reads the result, in the forms of RFC 7644, Entra ID and Okta.
 * Attributes that are not stored are ignored. @throws ScimBadRequest
 */
export function patchUser(user: ScimUser, body: unknown): UserAttributes {
  const operations = readOperations(body)
    .flatMap(toOperationsWithPath)
    .flatMap((operation) => toKnown(operation) ?? []);
  const resource = { schemas: [USER_SCHEMA], meta: { created: user.createdAt, lastModified: user.updatedAt } };
  try {
    return readUserAttributes(
      scimPatch({ ...resource, ...toPatchable(user) }, operations, {
        mutateDocument: false,
        treatMissingAsAdd: true,
      }),
    );
  } catch (cause) {
    if (!(cause instanceof ScimError)) throw cause;
    throw new ScimBadRequest((cause.scimCode as ScimType | undefined) ?? 'invalidPath', cause.message, { cause });
  }
}

/** An address that is the user name is not listed: it follows the user name. */
function toPatchable(user: ScimUser): Record<string, unknown> {
  const { userName, externalId, active, displayName, givenName, familyName, email, emailType } = user;
  return {
    userName,
    active,
    ...(externalId !== null && { externalId }),
    ...(displayName !== null && { displayName }),
    name: { ...(givenName !== null && { givenName }), ...(familyName !== null && { familyName }) },
    ...(email !== userName.toLowerCase() && { emails: [{ value: email, type: emailType, primary: true }] }),
  };
}

/** Okta sends an object of attributes without a path, Entra ID also one whose names are paths. */
function toOperationsWithPath({ op, path, value }: PatchOperation): LocatedOperation[] {
  if (path !== undefined) return [{ op, path, value, isPartOfValue: false }];
  return Object.entries(value as ScimObject).map(([name, part]) => ({
    op,
    path: name,
    value: part,
    isPartOfValue: true,
  }));
}

/** Returns null for an attribute that is not stored. Okta repeats the id in the value of an operation without a path. */
function toKnown({ op, path = '', value, isPartOfValue }: LocatedOperation): ScimPatchOperation | null {
  const parts = splitPath(path, USER_SCHEMA);
  if (parts === null) return null;
  const { root, selector, sub } = parts;
  if (READ_ONLY.has(root) && !isPartOfValue) throw new ScimBadRequest('mutability', `${root} is read-only`);
  const known = Object.hasOwn(ATTRIBUTES, root) ? ATTRIBUTES[root] : undefined;
  if (!known) return null;
  const subName = sub && known.subs.find((name) => name.toLowerCase() === sub);
  if (sub !== undefined && subName === undefined) return null;
  if (selector !== undefined && known.name !== 'emails') {
    throw new ScimBadRequest('invalidPath', `${known.name} has one value only`);
  }
  if (selector !== undefined && !EMAIL_SELECTOR.test(selector)) {
    throw new ScimBadRequest('invalidFilter', 'emails is selected by type, value or primary');
  }
  const target = known.name + (selector === undefined ? '' : `[${selector}]`) + (subName ? `.${subName}` : '');
  if (op === 'remove') return { op, path: target };
  return {
    op,
    path: target,
    value: known.name === 'active' ? flagOf(value, 'active') : withKnownNames(value, known.subs),
  };
}

/** Leaves the names in an object or a list of objects that are stored, so that no other name reaches the patch. */
function withKnownNames(value: unknown, names: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => withKnownNames(item, names));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).flatMap(([key, part]): [string, unknown][] => {
    const name = names.find((known) => known.toLowerCase() === key.toLowerCase());
    return name === undefined || (typeof part === 'object' && part !== null) ? [] : [[name, part]];
  });
  return Object.fromEntries(entries);
}
