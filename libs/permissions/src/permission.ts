import {
  PERMISSION_VOCABULARY,
  type Action,
  type ActionOf,
  type ConcretePermission,
  type Permission,
  type PermissionOn,
  type Resource,
} from './vocabulary.js';

/** Grants every permission, including those added to the vocabulary later. */
export const EVERYTHING = '*:*' satisfies Permission;

const RESOURCES = Object.keys(PERMISSION_VOCABULARY) as Resource[];

/** Every concrete permission, in the order of the vocabulary. */
export const ALL_PERMISSIONS: readonly ConcretePermission[] = RESOURCES.flatMap<ConcretePermission>(permissionsOn);

const KNOWN_PERMISSIONS: ReadonlySet<string> = new Set<Permission>([...ALL_PERMISSIONS, EVERYTHING]);

/** Returns the permissions of every action of a resource: `sites:read`, `sites:write`, `sites:delete`. */
export function permissionsOn<R extends Resource>(resource: R): PermissionOn<R>[] {
  const actions: readonly ActionOf<R>[] = PERMISSION_VOCABULARY[resource];
  return actions.map((action) => `${resource}:${action}` as PermissionOn<R>);
}

/** Checks that a role may store this text: a permission of the vocabulary, or `*:*`, the only wildcard. */
export function isPermission(text: string): text is Permission {
  return KNOWN_PERMISSIONS.has(text);
}

/**
 * Types a text that comes from a database, a message or a request.
 * @returns null when the vocabulary does not contain it
 */
export function parsePermission(text: string): Permission | null {
  return isPermission(text) ? text : null;
}

/** Splits at the colon: `splitPermission('users:invite')` is `{ resource: 'users', action: 'invite' }`. */
export function splitPermission(permission: Permission): { resource: Resource | '*'; action: Action | '*' } {
  const [resource, action] = permission.split(':') as [Resource | '*', Action | '*'];
  return { resource, action };
}
