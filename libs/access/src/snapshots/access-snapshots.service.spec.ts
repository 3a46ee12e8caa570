import type { AccessChanged, AccessResolveRequest } from '@rmm/contracts';
import { FixedClock } from '@rmm/testing-services';
import { snapshot } from '../../test/callers.js';
import { fakeFeeds, fakeSources } from '../../test/fakes.js';
import { ROLE_ID } from '../../test/tokens.js';
import { AccessSnapshots } from './access-snapshots.service.js';

const session: AccessResolveRequest = {
  userId: '11111111-1111-4111-8111-111111111111',
  sessionId: '22222222-2222-4222-8222-222222222222',
  scope: 'organization',
  partnerId: 'partner-1',
  orgId: 'org-1',
};

describe('AccessSnapshots', () => {
  let reads: number;
  let snapshots: AccessSnapshots;

  beforeEach(() => {
    const clock = new FixedClock();
    reads = 0;
    const resolve = (request: AccessResolveRequest) => Promise.resolve((reads++, snapshot(request)));
    snapshots = new AccessSnapshots(fakeSources({ access: { resolve } }), fakeFeeds(clock), clock);
  });

  it.each<[string, Omit<AccessChanged, 'reason'>, number]>([
    ['its user', { userIds: [session.userId] }, 2],
    ['its user in its partner', { userIds: [session.userId], partnerId: 'partner-1' }, 2],
    ['its user in another partner', { userIds: [session.userId], partnerId: 'partner-2' }, 1],
    ['its role', { roleIds: [ROLE_ID] }, 2],
    ['its role in another partner', { roleIds: [ROLE_ID], partnerId: 'partner-2' }, 1],
    ['its role in another organization', { roleIds: [ROLE_ID], partnerId: 'partner-1', orgId: 'org-2' }, 1],
    ['another role of its partner', { roleIds: ['role-2'], partnerId: 'partner-1' }, 1],
    ['its partner', { partnerIds: ['partner-1'] }, 2],
    ['its organization', { orgIds: ['org-1'] }, 2],
    ['another tenant', { partnerIds: ['partner-2'], orgIds: ['org-2'] }, 1],
  ])('after a change of %s', async (_, change, expected) => {
    await snapshots.get(session);
    snapshots.invalidate({ ...change, reason: 'spec' });
    await snapshots.get(session);
    expect(reads).toBe(expected);
  });
});
