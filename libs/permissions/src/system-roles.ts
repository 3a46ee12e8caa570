import { EVERYTHING, type Permission } from './permission.js';
import { allOf } from './vocabulary.js';

export type Scope = 'system' | 'partner' | 'organization';

export interface SystemRole {
  /** Stable name in code and seeds. */
  key: string;
  name: string;
  scope: Scope;
  description: string;
  forceMfa: boolean;
  permissions: readonly Permission[];
}

const pairs = (resource: string, ...actions: string[]): Permission[] =>
  actions.map((action): Permission => `${resource}:${action}`);
const on = (action: string, ...resources: string[]): Permission[] =>
  resources.map((resource): Permission => `${resource}:${action}`);

/** The seeded roles, written out pair by pair. They cannot be changed, only cloned. @see CONTRACT.md 4.6 */
export const SYSTEM_ROLES: readonly SystemRole[] = [
  {
    key: 'platform_admin',
    name: 'Platform Admin',
    scope: 'system',
    description: 'Runs the platform; reaches every partner',
    forceMfa: false,
    permissions: [EVERYTHING],
  },
  {
    key: 'partner_admin',
    name: 'Partner Admin',
    scope: 'partner',
    description: 'Everything in the partner and its organizations',
    forceMfa: true,
    permissions: [EVERYTHING],
  },
  {
    key: 'partner_technician',
    name: 'Partner Technician',
    scope: 'partner',
    description: 'Looks after devices, scripts, alerts and backups of all organizations',
    forceMfa: false,
    permissions: [
      ...pairs('backup', 'read', 'write'),
      ...pairs('devices', 'read', 'execute'),
      ...pairs('scripts', 'read', 'execute'),
      ...pairs('alerts', 'read', 'acknowledge'),
      ...pairs('reports', 'read', 'write'),
      ...on('read', 'tickets', 'ticket_mailbox', 'sites', 'topology', 'organizations'),
    ],
  },
  {
    key: 'partner_viewer',
    name: 'Partner Viewer',
    scope: 'partner',
    description: 'Looks, and changes nothing',
    forceMfa: false,
    permissions: on(
      'read',
      'devices',
      'scripts',
      'alerts',
      'tickets',
      'ticket_mailbox',
      'reports',
      'sites',
      'organizations',
    ),
  },
  {
    key: 'partner_billing',
    name: 'Partner Billing',
    scope: 'partner',
    description: 'Catalog, quotes, invoices and contracts',
    forceMfa: false,
    permissions: ['catalog', 'quotes', 'invoices', 'contracts'].flatMap(allOf),
  },
  {
    key: 'partner_billing_viewer',
    name: 'Partner Billing Viewer',
    scope: 'partner',
    description: 'Reads billing and exports invoices',
    forceMfa: false,
    permissions: [...on('read', 'catalog', 'quotes', 'invoices', 'contracts'), 'invoices:export'],
  },
  {
    key: 'org_admin',
    name: 'Org Admin',
    scope: 'organization',
    description: 'Runs one organization',
    forceMfa: false,
    permissions: [
      ...pairs('backup', 'read', 'write'),
      ...['devices', 'scripts', 'reports', 'users', 'sites', 'variables', 'alerts', 'tickets'].flatMap(allOf),
      ...pairs('topology', 'read', 'write'),
      ...pairs('audit', 'read', 'export'),
      ...pairs('organizations', 'read', 'write'),
      'remote:access',
      'vulnerabilities:accept_risk',
      'ai_sessions:read_all',
      'approvals:decide',
      'sso:admin',
    ],
  },
  {
    key: 'org_technician',
    name: 'Org Technician',
    scope: 'organization',
    description: 'Looks after the devices of one organization',
    forceMfa: false,
    permissions: [
      ...pairs('devices', 'read', 'write', 'execute'),
      ...pairs('scripts', 'read', 'execute'),
      ...pairs('alerts', 'read', 'acknowledge'),
      ...pairs('reports', 'read', 'write'),
      ...pairs('topology', 'read', 'write'),
      ...on('read', 'tickets', 'sites', 'variables', 'organizations'),
      'remote:access',
    ],
  },
  {
    key: 'org_viewer',
    name: 'Org Viewer',
    scope: 'organization',
    description: 'Looks at one organization, and changes nothing',
    forceMfa: false,
    permissions: on('read', 'devices', 'scripts', 'alerts', 'tickets', 'reports', 'sites', 'topology', 'organizations'),
  },
  {
    key: 'security_approver',
    name: 'Security Approver',
    scope: 'organization',
    description: 'Accepts the risk of a vulnerability in one organization',
    forceMfa: false,
    permissions: ['devices:read', 'organizations:read', 'vulnerabilities:accept_risk'],
  },
  {
    key: 'partner_security_approver',
    name: 'Partner Security Approver',
    scope: 'partner',
    description: 'Accepts the risk of a vulnerability in any organization',
    forceMfa: false,
    permissions: ['devices:read', 'organizations:read', 'vulnerabilities:accept_risk'],
  },
];
