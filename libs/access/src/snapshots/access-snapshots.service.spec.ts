import type { AccessChanged, AccessResolveRequest, AccessSnapshot } from '@rmm/contracts';
import { FixedClock } from '@rmm/testing-services';
import { snapshot } from '../../test/callers.js';
import { fakeFeeds, fakeSources } from '../../test/fakes.js';
import { ROLE_ID } from '../../test/tokens.js';
import type { UserCaller } from '../callers/caller.js';
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
  let found: Partial<AccessSnapshot> | null;
  let snapshots: AccessSnapshots;

  beforeEach(() => {
    const clock = new FixedClock();
    reads = 0;
    found = {};
    const resolve = (request: AccessResolveRequest) =>
      Promise.resolve((reads++, found && snapshot({ ...request, ...found })));
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

  it.each([true, false])('finds a caller by its session, with the claim of its token (%s)', async (mfa) => {
    const caller = await snapshots.findCaller({ ...session, mfa });
    expect(caller).toMatchObject({ kind: 'user', ...session, mfa });
  });

  it('asks for the session of a caller only, not with all that a caller has', async () => {
    const caller = (await snapshots.findCaller({ ...session, mfa: true })) as UserCaller;
    const requests: unknown[] = [];
    const access = { resolve: (request: unknown) => Promise.resolve((requests.push(request), null)) };
    const clock = new FixedClock();
    await new AccessSnapshots(fakeSources({ access }), fakeFeeds(clock), clock).findCaller(caller);
    expect(requests).toEqual([session]);
  });

  it.each<[string, Partial<AccessSnapshot> | null]>([
    ['the session is unknown', null],
    ['the user is disabled', { userStatus: 'disabled' }],
    ['the session is revoked', { sessionRevoked: true }],
    ['the membership has ended', { membershipExists: false }],
  ])('finds no caller when %s', async (_, change) => {
    found = change;
    expect(await snapshots.findCaller({ ...session, mfa: true })).toBeNull();
  });
});
