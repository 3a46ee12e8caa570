import { SiteAccessDenied, type Caller } from '@rmm/access';
import { assertSeesGroup, visibleGroups } from './device-group-access.policy.js';

const caller = (siteIds: string[] | null, deviceGroupIds: string[] | null) =>
  ({ kind: 'user', siteIds, deviceGroupIds }) as unknown as Caller;

describe('access to device groups', () => {
  it.each([
    ['no restriction', null, null, { groupIds: null, siteIds: null }],
    ['sites', ['s1'], null, { groupIds: null, siteIds: ['s1'] }],
    ['groups', null, ['g1'], { groupIds: ['g1'], siteIds: null }],
    ['sites and groups', ['s1'], ['g1'], { groupIds: ['g1'], siteIds: null }],
  ])('with %s', (_, siteIds, groupIds, expected) => {
    expect(visibleGroups(caller(siteIds, groupIds))).toEqual(expected);
  });

  it.each([
    ['a group of the site', ['s1'], null, { id: 'g1', siteId: 's1' }, true],
    ['a group of another site', ['s1'], null, { id: 'g1', siteId: 's2' }, false],
    ['a group of all sites, by site', ['s1'], null, { id: 'g1', siteId: null }, false],
    ['an own group', ['s1'], ['g1'], { id: 'g1', siteId: null }, true],
    ['another group', null, ['g1'], { id: 'g2', siteId: null }, false],
    ['any group without group', null, [], { id: 'g1', siteId: null }, false],
  ])('decides on %s', (_, siteIds, groupIds, group, isSeen) => {
    const check = () => assertSeesGroup(caller(siteIds, groupIds), group);
    if (isSeen) expect(check).not.toThrow();
    else expect(check).toThrow(SiteAccessDenied);
  });
});
