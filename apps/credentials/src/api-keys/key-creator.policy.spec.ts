import { PermissionNotDelegable, type UserCaller } from '@rmm/access';
import type { AccessGrant } from '@rmm/contracts';
import type { RpcClient } from '@rmm/messaging';
import { KeyCreatorPolicy } from './key-creator.policy.js';

const KEY = { orgId: 'o', partnerId: 'p', createdBy: 'u', scopes: ['devices:read'] };
const grant = (more: Partial<AccessGrant> = {}): AccessGrant => ({
  scope: 'partner',
  permissions: ['devices:read'],
  siteIds: null,
  deviceGroupIds: null,
  ...more,
});
const policyWith = (access: { active: boolean; grants: AccessGrant[] } | null) =>
  new KeyCreatorPolicy({ call: () => Promise.resolve(access) } as unknown as RpcClient);
const callerOf = (siteIds: string[] | null) =>
  ({ permissions: new Set(['devices:read']), siteIds, deviceGroupIds: null }) as unknown as UserCaller;

describe('KeyCreatorPolicy', () => {
  it.each([
    ['is unknown', null],
    ['is disabled', { active: false, grants: [grant()] }],
    ['has no membership', { active: true, grants: [] }],
    ['lacks a permission', { active: true, grants: [grant({ permissions: ['sites:read'] })] }],
  ])('finds no restriction when the creator %s', async (_, access) => {
    expect(await policyWith(access).findRestriction(KEY)).toBeNull();
  });

  it('returns the least restricted membership', async () => {
    const policy = policyWith({ active: true, grants: [grant({ siteIds: ['s'] }), grant()] });
    expect(await policy.findRestriction(KEY)).toEqual({ siteIds: null, deviceGroupIds: null });
  });

  it('allows rotation within the sites of the caller only', async () => {
    const policy = policyWith({ active: true, grants: [grant({ siteIds: ['a'] })] });
    await expect(policy.assertCanRotate(callerOf(['a', 'b']), KEY)).resolves.toBeUndefined();
    await expect(policy.assertCanRotate(callerOf(['b']), KEY)).rejects.toThrow(PermissionNotDelegable);
    await expect(policyWith(null).assertCanRotate(callerOf(null), KEY)).rejects.toThrow(PermissionNotDelegable);
  });
});
