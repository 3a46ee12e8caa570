/** The pair `resource:action`; `*` may stand on either side. @see SPEC.md 2.6 */
export type Permission = `${string}:${string}`;

/** The one permission that grants everything, itself included. */
export const EVERYTHING: Permission = '*:*';

/** Splits at the first colon: `parsePermission('users:invite')` is `{ resource: 'users', action: 'invite' }`. */
export function parsePermission(permission: Permission): { resource: string; action: string } {
  const colon = permission.indexOf(':');
  return { resource: permission.slice(0, colon), action: permission.slice(colon + 1) };
}

/** True when `*` stands on either side. */
export function isWildcard(permission: Permission): boolean {
  const { resource, action } = parsePermission(permission);
  return resource === '*' || action === '*';
}
