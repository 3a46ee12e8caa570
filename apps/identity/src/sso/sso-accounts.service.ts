import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { AuditTrail } from '@rmm/messaging';
import type { WorkerTransaction } from '@rmm/persistence';
import { AccessChangesService } from '../access/access-changes.service.js';
import { selfCaller } from '../audit/actors.js';
import { InvitationsRepository } from '../invitations/invitations.repository.js';
import { MembersRepository } from '../members/members.repository.js';
import { tenantIsActive, type User, type UserMembership } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';
import type { AssertedUser } from './asserted-user.js';
import { SsoDefaultRolePolicy } from './sso-default-role.policy.js';
import { SsoIdentitiesRepository } from './sso-identities.repository.js';
import { SsoLinksService } from './sso-links.service.js';
import { memberScopeOf, type SsoProvider } from './sso-provider.entity.js';
import { AddressTaken, SsoRefused } from './sso.errors.js';

/** A user whom a provider signed in, and the membership that the session enters. */
export interface SsoUser {
  user: User;
  membership: UserMembership;
}

/**
 * Decides which user a provider's subject is: the linked one, else a member with the asserted address whom the provider
 * may speak for, else a new one. Every path ends in a membership of the provider's owner. @see docs/reference/sso.md
 */
@Injectable()
export class SsoAccountsService {
  constructor(
    private readonly users: UsersRepository,
    private readonly identities: SsoIdentitiesRepository,
    private readonly invitations: InvitationsRepository,
    private readonly members: MembersRepository,
    private readonly links: SsoLinksService,
    private readonly defaultRoles: SsoDefaultRolePolicy,
    private readonly accessChanges: AccessChangesService,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws SsoRefused with the code of the first rule that is not met */
  async resolve(tx: WorkerTransaction, provider: SsoProvider, asserted: AssertedUser): Promise<SsoUser> {
    const linkedId = await this.identities.findUserId(tx, provider.id, asserted.subject);
    if (linkedId !== null) return this.toMember(provider, await this.users.findById(tx, linkedId));
    const provisionedId = await this.identities.findProvisionedUserId(tx, provider.id, asserted.subject);
    if (provisionedId !== null) return this.linkProvisioned(tx, provider, asserted, provisionedId);
    assertTrustedAddress(provider, asserted);
    const { email } = asserted;
    if (email === null) throw new SsoRefused('sso_email_unverified', 'no address');
    const found = await this.users.findByEmail(tx, email);
    const user = found
      ? await this.linkExisting(tx, provider, { ...asserted, email }, found)
      : await this.create(tx, provider, { ...asserted, email });
    return this.toMember(provider, user);
  }

  /** Links the user whom the provider itself has provisioned with this subject, whatever address is asserted. */
  private async linkProvisioned(
    tx: WorkerTransaction,
    provider: SsoProvider,
    asserted: AssertedUser,
    userId: string,
  ): Promise<SsoUser> {
    const found = this.toMember(provider, await this.users.findById(tx, userId));
    if (found.user.isPlatformAdmin) throw new SsoRefused('sso_link_required');
    await this.links.link(tx, provider, found.user, asserted);
    return found;
  }

  private toMember(provider: SsoProvider, user: User | null): SsoUser {
    const denied = provider.orgId === null ? 'no_partner_access' : 'no_org_access';
    if (user?.status !== 'active') throw new SsoRefused(denied, 'user not active');
    const membership = findMembership(provider, user);
    if (!membership) throw new SsoRefused(denied);
    return { user, membership };
  }

  private async linkExisting(
    tx: WorkerTransaction,
    provider: SsoProvider,
    asserted: AssertedUser & { email: string },
    user: User,
  ): Promise<User> {
    if (user.status === 'disabled') throw new SsoRefused(denialOf(provider), 'user not active');
    // Decisions about all memberships of a user are made one after the other.
    await this.users.lockMemberships(tx, user.id);
    const isMember = findMembership(provider, user) !== undefined;
    if (!isMember && !(await this.acceptInvitation(tx, provider, asserted, user))) {
      throw new SsoRefused(denialOf(provider));
    }
    await this.assertMayLink(tx, provider, asserted, user);
    if (user.status === 'invited') await this.users.activateBySso(tx, user.id, asserted.isDomainProven);
    await this.links.link(tx, provider, user, asserted);
    const updated = await this.users.findById(tx, user.id);
    if (!updated) throw new SsoRefused('user_creation_failed');
    return updated;
  }

  /** Links by address only an account that no other provider vouches for, or whose domain the organization has proven. */
  private async assertMayLink(tx: WorkerTransaction, provider: SsoProvider, asserted: AssertedUser, user: User) {
    if (user.isPlatformAdmin) throw new SsoRefused('sso_link_required');
    if (asserted.isDomainProven) return;
    const isFree = user.passwordHash === null && !(await this.identities.hasOther(tx, user.id, provider.id));
    // An invited account belongs to the owner of the mailbox, for whom only a proven domain speaks for.
    if (!isFree || user.status === 'invited') throw new SsoRefused('sso_link_required');
  }

  /** @returns false without an open invitation of the owner, or when the address is not proven */
  private async acceptInvitation(
    tx: WorkerTransaction,
    provider: SsoProvider,
    asserted: AssertedUser,
    user: User,
  ): Promise<boolean> {
    const scope = memberScopeOf(provider);
    const invitation = await this.invitations.lock(tx, scope, user.id);
    if (!invitation) return false;
    if (provider.orgId === null) throw new SsoRefused('invite_required');
    if (!asserted.isDomainProven || invitation.email !== asserted.email) return false;
    await this.invitations.acceptLocked(tx, scope, user.id);
    const caller = selfCaller(user, provider);
    await this.audit.record(
      tx,
      caller,
      'user.invite.accepted',
      { type: 'user', id: user.id, name: user.name },
      { method: 'sso' },
    );
    await this.accessChanges.publish(tx, { userIds: [user.id], reason: 'invite_accepted' });
    return true;
  }

  private async create(
    tx: WorkerTransaction,
    provider: SsoProvider,
    asserted: AssertedUser & { email: string },
  ): Promise<User> {
    if (provider.orgId === null) throw new SsoRefused('invite_required');
    if (!provider.autoProvision) throw new SsoRefused('user_not_found');
    if (provider.defaultRoleId === null) throw new SsoRefused('default_role_required');
    await this.defaultRoles.assertGrantable(tx, { ...provider, orgId: provider.orgId }, provider.defaultRoleId);
    const id = randomUUID();
    const { email, name, isDomainProven } = asserted;
    // Another login creates the same address: the caller decides again, and finds the account.
    if (!(await this.users.insertProvisioned(tx, { id, email, name, isVerified: isDomainProven })))
      throw new AddressTaken();
    await this.members.insert(tx, {
      ...{ scope: memberScopeOf(provider), userId: id, roleId: provider.defaultRoleId, orgAccess: 'none', orgIds: [] },
      ...{ siteIds: null, deviceGroupIds: null, invitedBy: provider.defaultRoleConfiguredBy },
    });
    const user = await this.users.findById(tx, id);
    if (!user) throw new SsoRefused('user_creation_failed');
    await this.links.linkCreated(tx, provider, user, asserted);
    return user;
  }
}

const denialOf = ({ orgId }: SsoProvider) => (orgId === null ? 'no_partner_access' : 'no_org_access');

/** Returns the active membership in the owner of the provider. */
export const findMembership = ({ partnerId, orgId }: SsoProvider, user: User): UserMembership | undefined =>
  user.memberships.find((m) => m.partnerId === partnerId && m.orgId === orgId && tenantIsActive(m));

/** Without a statement of the provider about the address, the organization must have proven the domain. */
function assertTrustedAddress({ orgId }: SsoProvider, { isVerified, isDomainProven }: AssertedUser): void {
  if (orgId !== null && !isVerified && !isDomainProven) throw new SsoRefused('sso_domain_unverified');
}
