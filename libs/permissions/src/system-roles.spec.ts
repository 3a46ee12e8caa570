import { hasPermission, missingPermissions } from './ceiling.js';
import { isPermission } from './permission.js';
import { SYSTEM_ROLES } from './system-roles.js';

const byKey = new Map(SYSTEM_ROLES.map((role) => [role.key, role]));
const permissionsOf = (key: string) => [...(byKey.get(key)?.permissions ?? [])].toSorted();

describe('SYSTEM_ROLES', () => {
  it('are eleven, each with its own name', () => {
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

  it.each(SYSTEM_ROLES.map((role) => [role.name, role] as const))(
    '%s grants known permissions, each once',
    (_, role) => {
      expect(role.permissions.filter((permission) => !isPermission(permission))).toEqual([]);
      expect(new Set(role.permissions).size).toBe(role.permissions.length);
    },
  );

  it('require MFA of partner admins only', () => {
    expect(SYSTEM_ROLES.filter(({ forceMfa }) => forceMfa).map(({ key }) => key)).toEqual(['partner_admin']);
  });

  it('grant everything to platform admins and partner admins', () => {
    expect(permissionsOf('platform_admin')).toEqual(['*:*']);
    expect(permissionsOf('partner_admin')).toEqual(['*:*']);
  });

  it('grant a partner technician exactly these fifteen permissions', () => {
    expect(permissionsOf('partner_technician')).toEqual([
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

  it('grant partner billing every action on four resources, and its viewer reading and exporting', () => {
    expect(permissionsOf('partner_billing')).toHaveLength(3 + 4 + 4 + 3);
    expect(permissionsOf('partner_billing_viewer')).toEqual([
      'catalog:read',
      'contracts:read',
      'invoices:export',
      'invoices:read',
      'quotes:read',
    ]);
  });

  it('grant an org admin users and organizations, but neither deleting organizations nor verifying the audit trail', () => {
    const admin = byKey.get('org_admin')?.permissions ?? [];
    for (const granted of [
      'users:invite',
      'organizations:write',
      'sso:admin',
      'devices:delete',
      'tickets:manage',
    ] as const) {
      expect(hasPermission(admin, granted)).toBe(true);
    }
    for (const denied of [
      'organizations:delete',
      'audit:manage',
      'backup:cross_site_restore',
      'billing:manage',
    ] as const) {
      expect(hasPermission(admin, denied)).toBe(false);
    }
  });

  it('grant an org technician nothing that an org admin lacks', () => {
    const technician = [...(byKey.get('org_technician')?.permissions ?? [])];
    expect(missingPermissions(byKey.get('org_admin')?.permissions ?? [], technician)).toEqual([]);
    expect(technician).toHaveLength(16);
  });

  it('grant viewers reading only', () => {
    for (const key of ['partner_viewer', 'org_viewer']) {
      expect(permissionsOf(key).every((permission) => permission.endsWith(':read'))).toBe(true);
      expect(permissionsOf(key)).toHaveLength(8);
    }
  });
});
