import { ALL_PERMISSIONS, isPermission, parsePermission, permissionsOn, splitPermission } from './permission.js';
import { PERMISSION_VOCABULARY } from './vocabulary.js';

describe('PERMISSION_VOCABULARY', () => {
  it('has 31 resources and no view or update action', () => {
    expect(Object.keys(PERMISSION_VOCABULARY)).toHaveLength(31);
    const actions: string[] = Object.values(PERMISSION_VOCABULARY).flat();
    expect(actions).not.toContain('view');
    expect(actions).not.toContain('update');
    expect(new Set(ALL_PERMISSIONS).size).toBe(actions.length);
  });
});

describe('isPermission', () => {
  it('accepts every permission of the vocabulary', () => {
    for (const [resource, actions] of Object.entries(PERMISSION_VOCABULARY)) {
      for (const action of actions) expect(isPermission(`${resource}:${action}`)).toBe(true);
    }
  });

  it('accepts the wildcard of every permission', () => {
    expect(isPermission('*:*')).toBe(true);
  });

  it.each([
    'devices:view',
    'gadgets:read',
    'gadgets:*',
    'devices:*',
    '*:read',
    '*:view',
    'constructor:read',
    'toString:*',
    'devices:read:more',
    'devices',
    ':',
    '',
  ])('rejects %j', (text) => {
    expect(isPermission(text)).toBe(false);
    expect(parsePermission(text)).toBeNull();
  });
});

describe('parsePermission', () => {
  it('returns a known permission unchanged', () => {
    expect(parsePermission('users:invite')).toBe('users:invite');
  });
});

describe('splitPermission', () => {
  it('returns the resource and the action', () => {
    expect(splitPermission('users:invite')).toEqual({ resource: 'users', action: 'invite' });
    expect(splitPermission('*:*')).toEqual({ resource: '*', action: '*' });
  });
});

describe('permissionsOn', () => {
  it('returns one permission for each action of the resource', () => {
    expect(permissionsOn('sites')).toEqual(['sites:read', 'sites:write', 'sites:delete']);
  });
});
