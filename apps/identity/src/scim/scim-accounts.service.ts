import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { WorkerTransaction } from '@rmm/persistence';
import { InvitationsRepository } from '../invitations/invitations.repository.js';
import type { MemberScope } from '../members/member-scope.service.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import { domainOf } from '../sso/email-domain.js';
import { SsoIdentitiesRepository } from '../sso/sso-identities.repository.js';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import { SsoProvidersRepository } from '../sso/sso-providers.repository.js';
import type { User } from '../users/user.types.js';
import { UsersRepository } from '../users/users.repository.js';
import type { ScimUser } from './scim-user.entity.js';
import { ScimUsersRepository } from './scim-users.repository.js';
import { ScimAccountRefused, ScimBadRequest, ScimConflict } from './scim.errors.js';
import { accountNameOf, type UserAttributes } from './user-attributes.js';

/** The account of a SCIM user, and what of an existing membership stays. */
export type ProvisionedAccount = Pick<ScimUser, 'userId' | 'ownsAccount' | 'keptRoleId'>;

/**
 * Decides which account a user of SCIM is. The organization has proven the domain of its address, as for a link by single
 * sign-on: the account is a new one, that of a member or invited user, or one without another use. @see docs/reference/scim.md
 */
@Injectable()
export class ScimAccountsService {
  constructor(
    private readonly users: UsersRepository,
    private readonly scimUsers: ScimUsersRepository,
    private readonly providers: SsoProvidersRepository,
    private readonly identities: SsoIdentitiesRepository,
    private readonly invitations: InvitationsRepository,
    private readonly sessions: SessionRevocationsService,
  ) {}

  /** Reads outside of a transaction. @throws ScimBadRequest for an address that the organization does not speak for */
  async assertAddressAllowed({ orgId, allowedDomains }: SsoProvider, email: string): Promise<void> {
    const domain = domainOf(email);
    if (domain !== null && allowedDomains.length > 0 && !allowedDomains.includes(domain)) {
      throw new ScimBadRequest('invalidValue', 'The domain of the address is not among the allowed domains');
    }
    const owner = domain === null ? null : await this.providers.findDomainOwner(domain);
    if (owner === null || owner !== orgId) {
      throw new ScimBadRequest('invalidValue', 'The organization has not proven the domain of the address');
    }
  }

  /** @throws ScimConflict, ScimAccountRefused for an account that this organization may not manage */
  async resolve(tx: WorkerTransaction, provider: SsoProvider, input: UserAttributes): Promise<ProvisionedAccount> {
    const id = randomUUID();
    const account = { id, email: input.email, name: accountNameOf(input), isVerified: true };
    if (await this.users.insertProvisioned(tx, account)) return { userId: id, ownsAccount: true, keptRoleId: null };
    const found = await this.users.findByEmail(tx, input.email);
    if (!found) throw new ScimConflict('The address has just been taken');
    await this.users.lockMemberships(tx, found.id);
    const user = await this.users.findById(tx, found.id);
    if (!user || user.email !== input.email) throw new ScimConflict('The address has just been taken');
    return this.takeOver(tx, provider, user);
  }

  private async takeOver(tx: WorkerTransaction, provider: SsoProvider, user: User): Promise<ProvisionedAccount> {
    if (user.isPlatformAdmin || user.status === 'disabled') {
      throw new ScimAccountRefused('The account of the address cannot be managed by an organization');
    }
    const scope = scopeOf(provider);
    const roleId = findRole(user, scope) ?? (await this.acceptInvitation(tx, scope, user));
    if (roleId === null && !(await this.isUnused(tx, provider, user))) {
      throw new ScimConflict(
        'The address has an account outside of the organization: invite it, then provision it again',
      );
    }
    if (user.status === 'invited') await this.users.activateBySso(tx, user.id, true);
    return { userId: user.id, ownsAccount: roleId === null, keptRoleId: roleId };
  }

  /** @returns the role of the accepted invitation; null without an open one to this address */
  private async acceptInvitation(tx: WorkerTransaction, scope: MemberScope, user: User): Promise<string | null> {
    const invitation = await this.invitations.lock(tx, scope, user.id);
    if (invitation?.email !== user.email) return null;
    await this.invitations.acceptLocked(tx, scope, user.id);
    return invitation.roleId;
  }

  /** An account without tenant, password and provider is an address and nothing more. */
  private async isUnused(tx: WorkerTransaction, provider: SsoProvider, user: User): Promise<boolean> {
    if (user.memberships.length > 0 || user.passwordHash !== null || user.mfaEnabled) return false;
    return !(await this.identities.hasOther(tx, user.id, provider.id));
  }

  /**
   * Stores name and address of an account that this organization alone uses; other accounts keep theirs. A new address
   * ends the sessions.
   * @throws a unique violation of `user_account_email_key`
   */
  async synchronize(tx: WorkerTransaction, user: ScimUser, before: UserAttributes): Promise<void> {
    const [name, email] = [accountNameOf(user), user.email];
    if (!user.ownsAccount || (name === accountNameOf(before) && email === before.email)) return;
    const isStored = await this.scimUsers.changeOwnAccount(tx, user, { name, email });
    if (isStored && email !== before.email) {
      await this.sessions.revokeAllAndIncrementEpoch(tx, user.userId, 'email_change');
    }
  }
}

/** @returns the provider's organization as a scope of members; SCIM is for providers of organizations only */
export function scopeOf({
  partnerId,
  orgId,
}: Pick<SsoProvider, 'partnerId' | 'orgId'>): MemberScope & { kind: 'organization' } {
  if (orgId === null) throw new Error('The provider belongs to no organization');
  return { kind: 'organization', partnerId, orgId };
}

const findRole = (user: User, { partnerId, orgId }: { partnerId: string; orgId: string }): string | null =>
  user.memberships.find((m) => m.partnerId === partnerId && m.orgId === orgId)?.roleId ?? null;
