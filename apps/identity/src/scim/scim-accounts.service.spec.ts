import type { WorkerTransaction } from '@rmm/persistence';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import type { User } from '../users/user.types.js';
import { ScimAccountsService } from './scim-accounts.service.js';
import type { ScimUser } from './scim-user.entity.js';
import type { UserAttributes } from './user-attributes.js';

const tx = {} as WorkerTransaction;
const PROVIDER = { id: 'idp', partnerId: 'p', orgId: 'o', allowedDomains: [] as string[] } as SsoProvider;
const INPUT = { userName: 'ann', email: 'ann@own.test', displayName: 'Ann' } as UserAttributes;
const FREE = {
  ...{ id: 'u', email: INPUT.email, status: 'active', isPlatformAdmin: false, passwordHash: null, mfaEnabled: false },
  memberships: [] as object[],
};
const MEMBER = { partnerId: 'p', orgId: 'o', roleId: 'member' };
const ELSEWHERE = { partnerId: 'q', orgId: 'x', roleId: 'other' };

describe('ScimAccountsService', () => {
  let account: object | null;
  let invitation: object | null;
  let hasOther: boolean;
  let calls: string[];
  let accounts: ScimAccountsService;

  beforeEach(() => {
    account = invitation = null;
    hasOther = false;
    calls = [];
    const noted = (name: string) => Promise.resolve(void calls.push(name));
    const find = () => Promise.resolve(account as User | null);
    accounts = new ScimAccountsService(
      {
        insertProvisioned: () => Promise.resolve(account === null),
        findByEmail: find,
        findById: find,
        lockMemberships: () => noted('lock'),
        activateBySso: () => noted('activate'),
      } as never,
      { changeOwnAccount: () => Promise.resolve((calls.push('change'), true)) } as never,
      {
        findDomainOwner: (domain: string) =>
          Promise.resolve(domain === 'own.test' ? 'o' : domain === 'x.test' ? 'x' : null),
      } as never,
      { hasOther: () => Promise.resolve(hasOther) } as never,
      { lock: () => Promise.resolve(invitation), acceptLocked: () => noted('accept') } as never,
      { revokeAllAndIncrementEpoch: () => noted('revoke') } as never,
    );
  });

  it('creates an account for an address without one', async () => {
    const created = await accounts.resolve(tx, PROVIDER, INPUT);
    expect(created).toEqual({ userId: expect.stringMatching(/^[\da-f-]{36}$/), ownsAccount: true, keptRoleId: null });
  });

  it.each([
    ['a member with its role', { memberships: [MEMBER, ELSEWHERE], passwordHash: 'x' }, false, 'member', []],
    ['an account without another use', {}, true, null, []],
    ['an invited account without another use, which becomes active', { status: 'invited' }, true, null, ['activate']],
  ])('takes over %s', async (_, values, ownsAccount, keptRoleId, more) => {
    account = { ...FREE, ...values };
    expect(await accounts.resolve(tx, PROVIDER, INPUT)).toEqual({ userId: 'u', ownsAccount, keptRoleId });
    expect(calls).toEqual(['lock', ...more]);
  });

  it('accepts an open invitation to the address, and none to another one', async () => {
    account = { ...FREE, status: 'invited', memberships: [ELSEWHERE] };
    invitation = { email: INPUT.email, roleId: 'invited' };
    expect(await accounts.resolve(tx, PROVIDER, INPUT)).toMatchObject({ ownsAccount: false, keptRoleId: 'invited' });
    expect(calls).toEqual(['lock', 'accept', 'activate']);
    invitation = { email: 'former@own.test', roleId: 'invited' };
    await expect(accounts.resolve(tx, PROVIDER, INPUT)).rejects.toMatchObject({ code: 'scim_uniqueness' });
  });

  it.each([
    ['another tenant uses', { memberships: [ELSEWHERE] }, 'scim_uniqueness'],
    ['has a password', { passwordHash: 'x' }, 'scim_uniqueness'],
    ['has a factor', { mfaEnabled: true }, 'scim_uniqueness'],
    ['is disabled, also of a member', { status: 'disabled', memberships: [MEMBER] }, 'scim_account_refused'],
    ['is of a platform administrator', { isPlatformAdmin: true, memberships: [MEMBER] }, 'scim_account_refused'],
  ])('refuses an account that %s', async (_, values, code) => {
    account = { ...FREE, ...values };
    await expect(accounts.resolve(tx, PROVIDER, INPUT)).rejects.toMatchObject({ code });
    expect(calls).not.toContain('activate');
  });

  it('refuses an account that another provider signs in', async () => {
    account = FREE;
    hasOther = true;
    await expect(accounts.resolve(tx, PROVIDER, INPUT)).rejects.toMatchObject({ code: 'scim_uniqueness' });
  });

  it.each([
    ['ann@own.test', [], true],
    ['ann@own.test', ['own.test'], true],
    ['ann@own.test', ['sub.own.test'], false],
    ['ann@sub.own.test', [], false],
    ['ann@x.test', [], false],
    ['ann@unknown.test', [], false],
    ['ann@x.test@own.test', [], true],
  ])('allows %s with the allowed domains %j: %s', async (email, allowedDomains, expected) => {
    const allowed = accounts.assertAddressAllowed({ ...PROVIDER, allowedDomains }, email);
    await (expected
      ? expect(allowed).resolves.toBeUndefined()
      : expect(allowed).rejects.toMatchObject({ code: 'scim_bad_request' }));
  });

  it.each([
    ['nothing of an account that it does not own', { ownsAccount: false }, []],
    ['nothing when name and address are the same', { displayName: 'Ann', email: INPUT.email }, []],
    ['the name', { displayName: 'Beth', email: INPUT.email }, ['change']],
    ['the address, and ends the sessions', { displayName: 'Ann', email: 'b@own.test' }, ['change', 'revoke']],
  ])('stores %s', async (_, values, expected) => {
    const user = {
      ...INPUT,
      givenName: null,
      familyName: null,
      ownsAccount: true,
      displayName: 'Beth',
      ...values,
    } as ScimUser;
    await accounts.synchronize(tx, user, INPUT);
    expect(calls).toEqual(expected);
  });
});
