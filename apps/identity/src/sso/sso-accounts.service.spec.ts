import { randomUUID } from 'node:crypto';
import type { WorkerTransaction } from '@rmm/persistence';
import { buildMembership, buildProvider, buildUser, FakeAudit } from '../../test/fakes.js';
import type { AccessChangesService } from '../access/access-changes.service.js';
import type { AccessRepository } from '../access/access.repository.js';
import type { InvitationsRepository } from '../invitations/invitations.repository.js';
import type { MailService } from '../mail/mail.service.js';
import type { MembersRepository } from '../members/members.repository.js';
import type { RolesRepository } from '../roles/roles.repository.js';
import type { User } from '../users/user.types.js';
import type { UsersRepository } from '../users/users.repository.js';
import type { AssertedUser } from './asserted-user.js';
import { SsoAccountsService } from './sso-accounts.service.js';
import { SsoDefaultRolePolicy } from './sso-default-role.policy.js';
import type { SsoIdentitiesRepository } from './sso-identities.repository.js';
import { SsoLinksService } from './sso-links.service.js';
import type { SsoProvider } from './sso-provider.entity.js';
import { AddressTaken } from './sso.errors.js';

const EMAIL = 'robin@acme.test';
const READ = 'devices:read';

describe('SsoAccountsService', () => {
  const tx = {} as WorkerTransaction;
  let provider: SsoProvider;
  let asserted: AssertedUser;
  let users: User[];
  /** Subject to user. */
  let links: Map<string, string>;
  let hasOtherProvider: boolean;
  let invitation: { email: string } | null;
  let role: { systemKey: string | null; permissions: string[] } | null;
  let grant: { status: string; roleId: string | null; permissions: string[]; siteIds: string[] | null };
  let isAddressTaken: boolean;
  let added: { roleId: string; invitedBy: string | null; orgAccess: string; siteIds: string[] | null }[];
  let audit: FakeAudit;
  let published: unknown[];
  let mails: string[];

  beforeEach(() => {
    const roles = { defaultRoleId: randomUUID(), defaultRoleConfiguredBy: randomUUID() };
    provider = buildProvider({ autoProvision: true, ...roles });
    asserted = {
      ...{ subject: 'subject', email: EMAIL, domain: 'acme.test', name: 'Robin' },
      ...{ isVerified: true, isDomainProven: false },
    };
    [users, links, added, published, mails] = [[], new Map(), [], [], []];
    [hasOtherProvider, isAddressTaken, invitation] = [false, false, null];
    role = { systemKey: null, permissions: [READ] };
    grant = { status: 'active', roleId: randomUUID(), permissions: [READ], siteIds: null };
    audit = new FakeAudit();
  });

  const join = (user: User) =>
    user.memberships.push(buildMembership({ partnerId: provider.partnerId, orgId: provider.orgId }));
  const addMember = (changes: Partial<User> = {}): User => {
    const user = buildUser({ email: EMAIL, ...changes });
    join(user);
    users.push(user);
    return user;
  };
  const addInvited = (changes: Partial<User> = {}): User => {
    const user = buildUser({ email: EMAIL, status: 'invited', ...changes });
    users.push(user);
    invitation = { email: EMAIL };
    return user;
  };
  const find = (id: string) => users.find((user) => user.id === id) ?? null;

  const resolve = () => {
    const identities = {
      findUserId: (_: unknown, providerId: string, subject: string) =>
        providerId === provider.id ? (links.get(subject) ?? null) : null,
      findProvisionedUserId: () => null,
      hasOther: () => hasOtherProvider,
      link: (_: unknown, { subject, userId }: { subject: string; userId: string }) => {
        if ([...links.values()].includes(userId)) return 'taken';
        links.set(subject, userId);
        return 'linked';
      },
    } as unknown as SsoIdentitiesRepository;
    const accessChanges = {
      publish: (_: unknown, change: unknown) => published.push(change),
    } as unknown as AccessChangesService;
    const mail = { add: (_: unknown, { template }: { template: string }) => mails.push(template) };
    return new SsoAccountsService(
      {
        findById: (_: unknown, id: string) => find(id),
        findByEmail: (_: unknown, email: string) => users.find((user) => user.email === email) ?? null,
        lockMemberships: () => undefined,
        activateBySso: (_: unknown, id: string) => Object.assign(find(id) ?? {}, { status: 'active' }),
        insertProvisioned: (_: unknown, { id, email }: User) => !isAddressTaken && users.push(buildUser({ id, email })),
      } as unknown as UsersRepository,
      identities,
      {
        lock: () => invitation,
        acceptLocked: (_: unknown, __: unknown, id: string) => join(find(id) as User),
      } as unknown as InvitationsRepository,
      {
        insert: (_: unknown, member: (typeof added)[number] & { userId: string }) => {
          added.push(member);
          join(find(member.userId) as User);
        },
      } as unknown as MembersRepository,
      new SsoLinksService(identities, accessChanges, audit.asTrail, mail as unknown as MailService),
      new SsoDefaultRolePolicy(
        { lockAgainstChange: () => undefined, findGrantable: () => role } as unknown as RolesRepository,
        { listOrganizationGrants: () => [grant] } as unknown as AccessRepository,
      ),
      accessChanges,
      audit.asTrail,
    ).resolve(tx, provider, asserted);
  };

  /** Returns the code of the refusal. */
  const refusal = () =>
    resolve().then(
      () => null,
      ({ code, message }: { code?: string; message: string }) => code ?? message,
    );

  describe('of a linked subject', () => {
    it('signs its user in whatever the provider says about the address', async () => {
      const user = addMember();
      links.set('subject', user.id);
      asserted = { ...asserted, email: null, isVerified: false };
      expect(await resolve()).toMatchObject({ user: { id: user.id }, membership: { orgId: provider.orgId } });
      expect(audit.entries).toEqual([]);
    });

    it.each<[string, (user: User) => void]>([
      ['disabled', (user) => (user.status = 'disabled')],
      ['no member of the organization any more', (user) => (user.memberships = [])],
      ['of a suspended organization', (user) => user.memberships.forEach((each) => (each.orgStatus = 'suspended'))],
    ])('refuses a user who is %s', async (_title, change) => {
      const user = addMember();
      links.set('subject', user.id);
      change(user);
      expect(await refusal()).toBe('no_org_access');
      provider.orgId = null;
      expect(await refusal()).toBe('no_partner_access');
    });
  });

  it.each<[string, Partial<AssertedUser>, string]>([
    ['states nothing about the address', { isVerified: false }, 'sso_domain_unverified'],
    ['names no address', { email: null }, 'sso_email_unverified'],
  ])('refuses a new subject when the provider %s', async (_title, changes, code) => {
    asserted = { ...asserted, ...changes };
    expect(await refusal()).toBe(code);
    expect(users).toEqual([]);
  });

  describe('of a member with the address', () => {
    it('links the account whose domain is proven', async () => {
      asserted.isDomainProven = true;
      const user = addMember({ passwordHash: 'hash' });
      expect((await resolve()).user.id).toBe(user.id);
      expect(links.get('subject')).toBe(user.id);
      expect(audit.entries).toMatchObject([{ action: 'sso.identity.linked', details: { providerId: provider.id } }]);
    });

    it('links an account that no other provider vouches for', async () => {
      const user = addMember();
      expect((await resolve()).user.id).toBe(user.id);
    });

    it.each<[string, () => User]>([
      ['has a password', () => addMember({ passwordHash: 'hash' })],
      ['has another provider', () => ((hasOtherProvider = true), addMember())],
      ['has another subject of the provider', () => (links.set('other', 'x'), linkOther())],
    ])('leaves an account that %s to its user', async (_title, arrange) => {
      arrange();
      expect(await refusal()).toBe('sso_link_required');
      expect(audit.actions).not.toContain('sso.identity.linked');
    });
    const linkOther = () => {
      const user = addMember();
      links.set('other', user.id);
      return user;
    };

    it('never links a platform administrator, also of a proven domain', async () => {
      asserted.isDomainProven = true;
      addMember({ isPlatformAdmin: true });
      expect(await refusal()).toBe('sso_link_required');
    });

    it('refuses a disabled account and one that is no member', async () => {
      addMember({ status: 'disabled' });
      expect(await refusal()).toBe('no_org_access');
      users = [buildUser({ email: EMAIL })];
      expect(await refusal()).toBe('no_org_access');
      expect(links.size).toBe(0);
    });
  });

  describe('of an invited account', () => {
    beforeEach(() => (asserted.isDomainProven = true));

    it('accepts the invitation and activates the account when the domain is proven', async () => {
      const user = addInvited();
      expect((await resolve()).user).toMatchObject({ id: user.id, status: 'active' });
      expect(audit.actions).toEqual(['user.invite.accepted', 'sso.identity.linked']);
      expect(published).toEqual([{ userIds: [user.id], reason: 'invite_accepted' }]);
    });

    it.each<[string, () => unknown, string]>([
      ['the domain is not proven', () => (asserted.isDomainProven = false), 'no_org_access'],
      ['the invitation is for another address', () => (invitation = { email: 'else@acme.test' }), 'no_org_access'],
      ['the invitation is not open', () => (invitation = null), 'no_org_access'],
      ['it is an invitation of the partner', () => (provider.orgId = null), 'invite_required'],
    ])('refuses it when %s', async (_title, change, code) => {
      addInvited();
      change();
      expect(await refusal()).toBe(code);
      expect([links.size, audit.entries, published]).toEqual([0, [], []]);
    });
  });

  describe('of an unknown address', () => {
    it('creates a member with the default role, which the user who chose it gives', async () => {
      const { user, membership } = await resolve();
      expect([user.email, membership.orgId]).toEqual([EMAIL, provider.orgId]);
      const { defaultRoleId: roleId, defaultRoleConfiguredBy: invitedBy } = provider;
      expect(added).toEqual([expect.objectContaining({ roleId, invitedBy, orgAccess: 'none', siteIds: null })]);
      expect(audit.entries).toMatchObject([{ action: 'sso.identity.linked', details: { created: true, roleId } }]);
    });

    it.each<[string, () => unknown, string]>([
      ['for a partner', () => (provider.orgId = null), 'invite_required'],
      ['unless the provider creates users', () => (provider.autoProvision = false), 'user_not_found'],
      ['without a default role', () => (provider.defaultRoleId = null), 'default_role_required'],
      ['when the role is gone', () => (role = null), 'invalid_role_scope'],
      ['with a system role', () => (role = { systemKey: 'org_admin', permissions: [] }), 'invalid_role_scope'],
      ['when no user chose the role', () => (provider.defaultRoleConfiguredBy = null), 'user_creation_failed'],
      ['when who chose the role is disabled', () => (grant.status = 'disabled'), 'user_creation_failed'],
      ['when who chose the role has none', () => (grant.roleId = null), 'user_creation_failed'],
      ['when who chose the role has fewer permissions', () => (grant.permissions = []), 'user_creation_failed'],
      ['when who chose the role is restricted to sites', () => (grant.siteIds = []), 'user_creation_failed'],
    ])('creates no user %s', async (_title, change, code) => {
      change();
      expect(await refusal()).toBe(code);
      expect([users, added, links.size]).toEqual([[], [], 0]);
    });

    it('asks the caller to decide again when another login creates the account', async () => {
      isAddressTaken = true;
      await expect(resolve()).rejects.toThrow(AddressTaken);
      expect(added).toEqual([]);
    });
  });
});
