import { KEY_CALLER, userCaller } from '../../test/callers.js';
import { canAccessOrganization, hasFullPartnerAccess } from './organization-access.policy.js';

const partner = { scope: 'partner', partnerId: 'p', orgId: null } as const;

describe('canAccessOrganization', () => {
  const own = { orgId: 'o', partnerId: 'p' };
  const foreign = { orgId: 'x', partnerId: 'q' };

  it.each([
    ['system', userCaller({ scope: 'system', partnerId: null, orgId: null }), own, true],
    ['all, in the same partner', userCaller({ ...partner, orgAccess: 'all' }), own, true],
    ['all, but another partner', userCaller({ ...partner, orgAccess: 'all' }), foreign, false],
    ['selected and listed', userCaller({ ...partner, orgAccess: 'selected', orgIds: ['o'] }), own, true],
    ['selected and not listed', userCaller({ ...partner, orgAccess: 'selected', orgIds: ['y'] }), own, false],
    [
      'listed, but of another partner',
      userCaller({ ...partner, orgAccess: 'selected', orgIds: ['x'] }),
      foreign,
      false,
    ],
    ['none', userCaller({ ...partner, orgAccess: 'none' }), own, false],
    ['a member of it', userCaller({ scope: 'organization', partnerId: 'p', orgId: 'o' }), own, true],
    ['a member of another', userCaller({ scope: 'organization', partnerId: 'p', orgId: 'y' }), own, false],
    ['its key', KEY_CALLER, own, true],
    ['a key of another', KEY_CALLER, foreign, false],
  ])('%s', (_, caller, organization, expected) => {
    expect(canAccessOrganization(caller, organization)).toBe(expected);
  });
});

describe('hasFullPartnerAccess', () => {
  it('returns false only for partner members without access to all organizations', () => {
    expect(hasFullPartnerAccess(userCaller({ ...partner, orgAccess: 'all' }))).toBe(true);
    expect(hasFullPartnerAccess(userCaller({ ...partner, orgAccess: 'selected' }))).toBe(false);
    expect(hasFullPartnerAccess(userCaller({ ...partner, orgAccess: 'none' }))).toBe(false);
    expect(hasFullPartnerAccess(KEY_CALLER)).toBe(true);
  });
});
