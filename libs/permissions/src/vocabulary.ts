import { isWildcard, parsePermission, type Permission } from './permission.js';

/** Every assignable pair, by resource. There is no `view` and no `update` action. @see SPEC.md 2.6 */
export const PERMISSION_VOCABULARY: Readonly<Record<string, readonly string[]>> = {
  backup: ['read', 'write', 'cross_site_restore'],
  devices: ['read', 'write', 'delete', 'execute'],
  agent_rollback: ['create'],
  topology: ['read', 'write'],
  scripts: ['read', 'write', 'delete', 'execute'],
  variables: ['read', 'manage'],
  alerts: ['read', 'write', 'acknowledge'],
  tickets: ['read', 'write', 'manage'],
  ticket_mailbox: ['read', 'admin'],
  catalog: ['read', 'write', 'delete'],
  invoices: ['read', 'write', 'send', 'export'],
  accounting: ['read', 'manage'],
  contracts: ['read', 'write', 'manage'],
  quotes: ['read', 'write', 'send', 'fulfill'],
  time_entries: ['read', 'write'],
  users: ['read', 'write', 'delete', 'invite'],
  organizations: ['read', 'write', 'delete'],
  sso: ['admin'],
  sites: ['read', 'write', 'delete'],
  automations: ['read', 'write', 'delete'],
  remote: ['access'],
  audit: ['read', 'export', 'manage'],
  reports: ['read', 'write', 'delete', 'export'],
  billing: ['manage'],
  vulnerabilities: ['accept_risk'],
  ai_sessions: ['read_all'],
  ai_agents: ['read', 'write'],
  approvals: ['decide'],
  pam: ['approve', 'manage_policy'],
  workspace: ['read', 'write', 'credentials', 'execute'],
  connected_apps: ['read', 'manage'],
};

/** Every pair of the vocabulary, in its order, without wildcards. */
export const ALL_PERMISSIONS: readonly Permission[] = Object.keys(PERMISSION_VOCABULARY).flatMap(allOf);

/** Every action of one resource: `allOf('sites')` is `['sites:read', 'sites:write', 'sites:delete']`. */
export function allOf(resource: string): Permission[] {
  return (PERMISSION_VOCABULARY[resource] ?? []).map((action): Permission => `${resource}:${action}`);
}

/**
 * May this pair be stored with a role? `*` counts as known on either side, as long as the other side is known.
 * Whether the caller may *grant* it is another question: `missingPermissions`.
 */
export function isKnownPermission(resource: string, action: string): boolean {
  if (resource === '*') return action === '*' || Object.values(PERMISSION_VOCABULARY).some((a) => a.includes(action));
  if (!Object.hasOwn(PERMISSION_VOCABULARY, resource)) return false;
  return action === '*' || PERMISSION_VOCABULARY[resource].includes(action);
}

/** The pairs behind a set of stored ones, wildcards written out: what a client is shown as effective. */
export function expandWildcards(permissions: Iterable<Permission>): Permission[] {
  const stored = [...permissions];
  const plain = stored.filter((permission) => !isWildcard(permission));
  const wild = stored.filter(isWildcard).map(parsePermission);
  const matched = ALL_PERMISSIONS.filter((candidate) => {
    const { resource, action } = parsePermission(candidate);
    return wild.some(
      (w) => (w.resource === '*' || w.resource === resource) && (w.action === '*' || w.action === action),
    );
  });
  return [...new Set([...plain, ...matched])];
}
