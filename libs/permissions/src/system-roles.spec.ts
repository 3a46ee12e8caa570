import { hasPermission, missingPermissions } from './ceiling.js';
import { parsePermission } from './permission.js';
import { SYSTEM_ROLES } from './system-roles.js';
import { isKnownPermission } from './vocabulary.js';

const byKey = new Map(SYSTEM_ROLES.map((role) => [role.key, role]));
const pairsOf = (key: string) => [...(byKey.get(key)?.permissions ?? [])].toSorted();

describe('the seeded roles', () => {
  it('are the eleven of CONTRACT 4.6, under names of their own', () => {
    expect(SYSTEM_ROLES.map(({ name, scope }) => `${name} (${scope})`)).toEqual([
      'Platform Admin (system)',
      'Partner Admin (partner)',
      'Partner Technician (partner)',
      'Partner Viewer (partner)',
      'Partner Billing (partner)',
      'Partner Billing Viewer (partner)',
      'Org Admin (organization)',
      'Org Technician (organization)',
      'Org Viewer (organization)',
      'Security Approver (organization)',
      'Partner Security Approver (partner)',
    ]);
    expect(byKey.size).toBe(SYSTEM_ROLES.length);
  });

  it.each(SYSTEM_ROLES.map((role) => [role.name, role] as const))('%s holds known pairs, each once', (_, role) => {
    for (const permission of role.permissions) {
      const { resource, action } = parsePermission(permission);
      expect([permission, isKnownPermission(resource, action)]).toEqual([permission, true]);
    }
    expect(new Set(role.permissions).size).toBe(role.permissions.length);
  });

  it('force a factor on partner admins only', () => {
    expect(SYSTEM_ROLES.filter(({ forceMfa }) => forceMfa).map(({ key }) => key)).toEqual(['partner_admin']);
  });

  it('give everything to the two admins above organizations', () => {
    expect(pairsOf('platform_admin')).toEqual(['*:*']);
    expect(pairsOf('partner_admin')).toEqual(['*:*']);
  });

  it('give a partner technician what the contract lists', () => {
    expect(pairsOf('partner_technician')).toEqual([
      'alerts:acknowledge',
      'alerts:read',
      'backup:read',
      'backup:write',
      'devices:execute',
      'devices:read',
      'organizations:read',
      'reports:read',
      'reports:write',
      'scripts:execute',
      'scripts:read',
      'sites:read',
      'ticket_mailbox:read',
      'tickets:read',
      'topology:read',
    ]);
  });

  it('give partner billing every action on its four resources, and its viewer reading and exporting', () => {
    expect(pairsOf('partner_billing')).toHaveLength(3 + 4 + 4 + 3);
    expect(pairsOf('partner_billing_viewer')).toEqual([
      'catalog:read',
      'contracts:read',
      'invoices:export',
      'invoices:read',
      'quotes:read',
    ]);
  });

  it('give an org admin users and organizations, but neither deletes organizations nor verifies the audit trail', () => {
    const admin = byKey.get('org_admin')?.permissions ?? [];
    for (const held of [
      'users:invite',
      'organizations:write',
      'sso:admin',
      'devices:delete',
      'tickets:manage',
    ] as const) {
      expect(hasPermission(admin, held)).toBe(true);
    }
    for (const not of [
      'organizations:delete',
      'audit:manage',
      'backup:cross_site_restore',
      'billing:manage',
    ] as const) {
      expect(hasPermission(admin, not)).toBe(false);
    }
  });

  it('never put an org technician above an org admin', () => {
    const technician = [...(byKey.get('org_technician')?.permissions ?? [])];
    expect(missingPermissions(byKey.get('org_admin')?.permissions ?? [], technician)).toEqual([]);
    expect(technician).toHaveLength(16);
  });

  it('let viewers read and nothing else', () => {
    for (const key of ['partner_viewer', 'org_viewer']) {
      expect(pairsOf(key).every((permission) => permission.endsWith(':read'))).toBe(true);
      expect(pairsOf(key)).toHaveLength(8);
    }
  });
});
