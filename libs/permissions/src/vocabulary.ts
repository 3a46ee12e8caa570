/** Every assignable permission, by resource. There is no `view` and no `update` action. */
export const PERMISSION_VOCABULARY = {
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
} as const;

type Vocabulary = typeof PERMISSION_VOCABULARY;

/** A resource of the vocabulary: `devices`. */
export type Resource = keyof Vocabulary;

/** The actions of one resource: `ActionOf<'sso'>` is `'admin'`. */
export type ActionOf<R extends Resource> = Vocabulary[R][number];

/** An action of any resource: `read`. */
export type Action = ActionOf<Resource>;

/** The permissions of one resource: `PermissionOn<'sso'>` is `'sso:admin'`. */
export type PermissionOn<R extends Resource> = { [S in R]: `${S}:${ActionOf<S>}` }[R];

/** A resource and one of its actions: `devices:read`. */
export type ConcretePermission = PermissionOn<Resource>;

/** Matches every permission; the only wildcard. */
export type WildcardPermission = '*:*';

/** A permission that a role can store. Route decorators, role seeds and scopes do not compile with any other text. */
export type Permission = ConcretePermission | WildcardPermission;
