import { ALL_PERMISSIONS, splitPermission } from './permission.js';
import type { Action, Permission, Resource } from './vocabulary.js';

/** Label of each resource in `GET /permissions/catalog`. */
export const RESOURCE_LABELS: Readonly<Record<Resource, string>> = {
  backup: 'Backup',
  devices: 'Devices',
  agent_rollback: 'Agent rollback',
  topology: 'Network topology',
  scripts: 'Scripts',
  variables: 'Variables',
  alerts: 'Alerts',
  tickets: 'Tickets',
  ticket_mailbox: 'Ticket mailbox',
  catalog: 'Product catalog',
  invoices: 'Invoices',
  accounting: 'Accounting',
  contracts: 'Contracts',
  quotes: 'Quotes',
  time_entries: 'Time entries',
  users: 'Users and roles',
  organizations: 'Organizations',
  sso: 'Single sign-on',
  sites: 'Sites',
  automations: 'Automations',
  remote: 'Remote sessions',
  audit: 'Audit trail',
  reports: 'Reports',
  billing: 'Billing',
  vulnerabilities: 'Vulnerabilities',
  ai_sessions: 'AI sessions',
  ai_agents: 'AI agents',
  approvals: 'Approvals',
  pam: 'Privileged access',
  workspace: 'Workspace',
  connected_apps: 'Connected apps',
};

/** Label of each action in `GET /permissions/catalog`. */
export const ACTION_LABELS: Readonly<Record<Action, string>> = {
  read: 'View',
  write: 'Create and change',
  delete: 'Delete',
  execute: 'Run',
  create: 'Start',
  manage: 'Manage',
  admin: 'Administer',
  acknowledge: 'Acknowledge',
  send: 'Send',
  export: 'Export',
  fulfill: 'Fulfill',
  invite: 'Invite',
  access: 'Access',
  cross_site_restore: 'Restore to another site',
  accept_risk: 'Accept risk',
  read_all: 'View all',
  decide: 'Decide',
  approve: 'Approve',
  manage_policy: 'Manage policy',
  credentials: 'Use credentials',
};

/** Descriptions of the permissions whose two labels do not explain them. */
const DESCRIPTIONS: Readonly<Partial<Record<Permission, string>>> = {
  'backup:cross_site_restore': 'Restore a backup to a device of another site',
  'agent_rollback:create': 'Return an agent to an earlier version',
  'devices:execute': 'Run commands on devices and push builds to them',
  'users:write': 'Change users, their roles, and the roles themselves',
  'users:invite': 'Invite users and resend invitations',
  'users:delete': 'Remove members, and delete roles',
  'organizations:write': 'Change organizations; manage API keys, enrollment keys, principals and webhooks',
  'sso:admin': 'Set up identity providers and prove domains',
  'remote:access': 'Open remote sessions on devices',
  'audit:manage': 'Verify that the audit trail is unbroken',
  'vulnerabilities:accept_risk': 'Mark a vulnerability as an accepted risk',
  'ai_sessions:read_all': 'Read the AI sessions of other users',
  'approvals:decide': 'Approve or refuse pending requests',
};

export interface CatalogEntry {
  resource: string;
  action: string;
  description?: string;
}

/** Every assignable permission, with its description where it has one. Wildcards are left out. */
export const PERMISSION_CATALOG: readonly CatalogEntry[] = ALL_PERMISSIONS.map((permission) => {
  const { resource, action } = splitPermission(permission);
  const description = DESCRIPTIONS[permission];
  return description === undefined ? { resource, action } : { resource, action, description };
});
