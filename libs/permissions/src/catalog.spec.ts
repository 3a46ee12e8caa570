import { ACTION_LABELS, PERMISSION_CATALOG, RESOURCE_LABELS } from './catalog.js';
import { ALL_PERMISSIONS } from './permission.js';
import { PERMISSION_VOCABULARY } from './vocabulary.js';

describe('PERMISSION_CATALOG', () => {
  it('lists every permission once and no wildcards', () => {
    expect(PERMISSION_CATALOG.map(({ resource, action }) => `${resource}:${action}`)).toEqual(ALL_PERMISSIONS);
  });

  it('has exactly one label for each resource and action', () => {
    const actions = new Set<string>(Object.values(PERMISSION_VOCABULARY).flat());
    expect(Object.keys(RESOURCE_LABELS).toSorted()).toEqual(Object.keys(PERMISSION_VOCABULARY).toSorted());
    expect(Object.keys(ACTION_LABELS).toSorted()).toEqual([...actions].toSorted());
  });
});
