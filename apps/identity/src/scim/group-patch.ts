import { isUuid } from '@rmm/validation';
import { readOperations, splitPath, type PatchOperation } from './patch-operations.js';
import { attributeOf, textOf, toScimObject, type ScimObject } from './scim-attributes.js';
import { readFilter } from './scim-filter.js';
import { GROUP_SCHEMA, MAX_GROUP_MEMBERS } from './scim.config.js';
import { ScimBadRequest } from './scim.errors.js';

/** Attributes of a group after a request. */
export interface GroupAttributes {
  displayName: string;
  externalId: string | null;
}

/** Users that a PATCH adds to a group or removes from it. */
export interface MemberChanges {
  add: ReadonlySet<string>;
  remove: ReadonlySet<string>;
  /** The users before are removed, but those in `add`. */
  replaces: boolean;
}

/** Reads a group resource, as POST and PUT send it. @throws ScimBadRequest */
export function readGroup(body: unknown): GroupAttributes & { members: string[] } {
  const resource = toScimObject(body, 'The body');
  return { ...readGroupAttributes(resource), members: readMemberIds(attributeOf(resource, 'members') ?? []) };
}

function readGroupAttributes(resource: ScimObject): GroupAttributes {
  const displayName = textOf(resource, 'displayName');
  if (displayName === null) throw new ScimBadRequest('invalidValue', 'displayName is required');
  return { displayName, externalId: textOf(resource, 'externalId') };
}

/**
 * Reads the PATCH of a group. The users are not part of the resource that is patched, since a group has thousands.
 * @throws ScimBadRequest
 */
export function patchGroup(
  group: GroupAttributes,
  body: unknown,
): { attributes: GroupAttributes; members: MemberChanges } {
  const resource: Record<string, unknown> = { displayName: group.displayName, externalId: group.externalId };
  const changes = { add: new Set<string>(), remove: new Set<string>(), replaces: false };
  for (const operation of readOperations(body).flatMap(toOperationsWithPath)) {
    const parts = splitPath(operation.path ?? '', GROUP_SCHEMA);
    if (parts?.root === 'members') changeMembers(changes, operation, parts.selector);
    if (parts?.root === 'displayname') resource['displayName'] = valueOf(operation);
    if (parts?.root === 'externalid') resource['externalId'] = valueOf(operation);
  }
  if (changes.add.size > MAX_GROUP_MEMBERS) throw tooManyMembers();
  return { attributes: readGroupAttributes(resource), members: changes };
}

function toOperationsWithPath({ op, path, value }: PatchOperation): PatchOperation[] {
  if (path !== undefined) return [{ op, path, value }];
  return Object.entries(value as ScimObject).map(([name, part]) => ({ op, path: name, value: part }));
}

const valueOf = ({ op, value }: PatchOperation): unknown => (op === 'remove' ? undefined : value);

function changeMembers(
  changes: { add: Set<string>; remove: Set<string>; replaces: boolean },
  { op, value }: PatchOperation,
  selector: string | undefined,
): void {
  const selected = selector === undefined ? undefined : readSelector(selector);
  if (op === 'add') {
    for (const id of selected ?? readMemberIds(value)) {
      changes.add.add(id);
      changes.remove.delete(id);
    }
    return;
  }
  if (op === 'replace' && selected !== undefined) {
    throw new ScimBadRequest('invalidPath', 'replace takes all members');
  }
  // Without a value `remove` removes all users, and `replace` replaces all.
  if (op === 'replace' || (selected === undefined && value === undefined)) {
    changes.replaces = true;
    changes.add.clear();
    changes.remove.clear();
    if (op === 'replace') for (const id of readMemberIds(value ?? [])) changes.add.add(id);
    return;
  }
  for (const id of selected ?? readMemberIds(value)) {
    changes.remove.add(id);
    changes.add.delete(id);
  }
}

/** Reads `value eq "<id>"`, by which Entra ID and Okta remove one user. */
function readSelector(text: string): string[] {
  const conditions = readFilter(text, { value: 'value' });
  const [condition] = conditions;
  if (conditions.length !== 1 || !condition)
    throw new ScimBadRequest('invalidPath', 'members is selected by one value');
  return isUuid(condition.value) ? [condition.value.toLowerCase()] : [];
}

/** Reads a list of `{ value }`, or a single one. */
function readMemberIds(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (list.length > MAX_GROUP_MEMBERS) throw tooManyMembers();
  const ids = list.map((item) => {
    const id = typeof item === 'string' ? item : attributeOf(toScimObject(item, 'members'), 'value');
    if (!isUuid(id)) throw new ScimBadRequest('invalidValue', 'members must name users by their ids');
    return id.toLowerCase();
  });
  return [...new Set(ids)];
}

export const tooManyMembers = () => new ScimBadRequest('tooMany', `A group has at most ${MAX_GROUP_MEMBERS} members`);
