import { PERMISSION_CATALOG, RESOURCE_LABELS, ACTION_LABELS } from './catalog.js';
import { ALL_PERMISSIONS, allOf, expandWildcards, isKnownPermission, PERMISSION_VOCABULARY } from './vocabulary.js';

describe('the vocabulary', () => {
  it('has 31 resources and no view or update action', () => {
    expect(Object.keys(PERMISSION_VOCABULARY)).toHaveLength(31);
    const actions = Object.values(PERMISSION_VOCABULARY).flat();
    expect(actions).not.toContain('view');
    expect(actions).not.toContain('update');
    expect(new Set(ALL_PERMISSIONS).size).toBe(actions.length);
  });

  it('knows its own pairs', () => {
    for (const [resource, actions] of Object.entries(PERMISSION_VOCABULARY)) {
      for (const action of actions) expect(isKnownPermission(resource, action)).toBe(true);
    }
  });

  it.each([
    ['*', '*'],
    ['devices', '*'],
    ['*', 'read'],
  ])('knows the wildcard %s:%s', (resource, action) => {
    expect(isKnownPermission(resource, action)).toBe(true);
  });

  it.each([
    ['devices', 'view'],
    ['gadgets', 'read'],
    ['gadgets', '*'],
    ['*', 'view'],
    ['constructor', 'read'],
    ['toString', '*'],
    ['', ''],
  ])('does not know %s:%s', (resource, action) => {
    expect(isKnownPermission(resource, action)).toBe(false);
  });

  it('lists every action of a resource, and nothing of an unknown one', () => {
    expect(allOf('sites')).toEqual(['sites:read', 'sites:write', 'sites:delete']);
    expect(allOf('gadgets')).toEqual([]);
  });

  it('writes wildcards out and keeps plain pairs once', () => {
    expect(expandWildcards(['sites:*', 'sites:read', 'audit:read']).toSorted()).toEqual([
      'audit:read',
      'sites:delete',
      'sites:read',
      'sites:write',
    ]);
    expect(expandWildcards(['*:*'])).toEqual(ALL_PERMISSIONS);
    expect(expandWildcards(['*:execute'])).toEqual(['devices:execute', 'scripts:execute', 'workspace:execute']);
  });
});

describe('the catalog', () => {
  it('shows every pair once, without wildcards, with a label on either side', () => {
    expect(PERMISSION_CATALOG.map(({ resource, action }) => `${resource}:${action}`)).toEqual(ALL_PERMISSIONS);
    for (const { resource, action } of PERMISSION_CATALOG) {
      expect(RESOURCE_LABELS[resource]).toBeTruthy();
      expect(ACTION_LABELS[action]).toBeTruthy();
    }
    expect(Object.keys(RESOURCE_LABELS)).toHaveLength(Object.keys(PERMISSION_VOCABULARY).length);
  });
});
