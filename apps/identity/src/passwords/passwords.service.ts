import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, type AuditedCaller, type OutboxTransaction } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { UnauthenticatedError } from '@rmm/service-kit';
import { selfCaller, unknownCaller } from '../audit/actors.js';
import { MailService } from '../mail/mail.service.js';
import { sameMembership } from '../members/membership.types.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import { SsoEnforced } from '../sso/sso.errors.js';
import { isSsoOnly, type User } from '../users/user.types.js';
import { PasswordHasher } from './password-hasher.service.js';
import { canResetPassword } from './password-reset.policy.js';
import { PasswordVerificationService } from './password-verification.service.js';
import { CurrentPasswordWrong, ResetTokenInvalid } from './password.errors.js';
import { assertStrongPassword } from './password.policy.js';
import { PasswordsRepository } from './passwords.repository.js';

const LINK_TOKEN = /^[A-Za-z0-9_-]{48}$/;

interface NewPassword {
  passwordHash: string;
  /** The hash it replaces; any when null. */
  expectedHash: string | null;
  reason: 'password_change' | 'password_reset';
}

const ACTIONS = { password_change: 'user.password.change', password_reset: 'user.password.reset' } as const;

/**
 * Changes passwords: with the current one, or by a mailed link. Either ends every session and creates none: the user
 * signs in, with the factor, afterwards. @see docs/reference/authentication.md
 */
@Injectable()
export class PasswordsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly repository: PasswordsRepository,
    private readonly verification: PasswordVerificationService,
    private readonly hasher: PasswordHasher,
    private readonly revocations: SessionRevocationsService,
    private readonly audit: AuditTrail,
    private readonly mail: MailService,
  ) {}

  /**
   * Changes the password of a signed-in user and ends every session, in one transaction. Every call counts, also one
   * with the correct password: each costs a score and hashes.
   * @throws CurrentPasswordWrong, PasswordNotSet, SsoEnforced, WeakPassword, RateLimitedError
   */
  async change(caller: UserCaller, currentPassword: string, newPassword: string): Promise<void> {
    await this.verification.countChange(caller);
    const user = await this.getUser(caller);
    if (isSsoOnly(user)) return this.refuseEnforced(caller, user, 'user.password.change');
    await this.verifyCurrent(caller, user, currentPassword);
    await assertStrongPassword(newPassword, user);
    const passwordHash = await this.hasher.hash(newPassword);
    const change = { passwordHash, expectedHash: user.passwordHash, reason: 'password_change' } as const;
    const stored = await this.tenants.transaction(caller, (tx) => this.replace(tx, caller, user, change));
    if (!stored) throw new CurrentPasswordWrong();
  }

  /**
   * Uses a mailed link, replaces the password and ends every session, in one transaction. A password that is refused
   * leaves the link valid.
   * @param client  key of the rate limit
   * @throws SsoEnforced, WeakPassword, ResetTokenInvalid, RateLimitedError
   */
  async reset(token: string, password: string, client: string): Promise<void> {
    await this.verification.countReset(client);
    const owner = LINK_TOKEN.test(token) ? await this.findLinkOwner(hashKey(token)) : null;
    if (owner && isSsoOnly(owner)) {
      return this.refuseEnforced(selfCaller(owner, owner.memberships[0] ?? null), owner, 'user.password.reset');
    }
    await assertStrongPassword(password, owner ?? { email: '' });
    if (!owner) return this.refuseReset(null);
    const passwordHash = await this.hasher.hash(password);
    if (!(await this.replaceByLink(hashKey(token), passwordHash))) return this.refuseReset(owner);
    await this.verification.tryClearLock(owner.id);
  }

  /** @throws UnauthenticatedError when the user or the membership no longer exists */
  private async getUser(caller: UserCaller): Promise<User> {
    const user = await this.repository.findUser(this.worker, caller.userId);
    if (!user?.memberships.some((membership) => sameMembership(membership, caller))) throw new UnauthenticatedError();
    return user;
  }

  private async verifyCurrent(caller: UserCaller, user: User, currentPassword: string): Promise<void> {
    try {
      await this.verification.verifyCurrent(caller, user, currentPassword);
    } catch (error) {
      if (!(error instanceof CurrentPasswordWrong)) throw error;
      const self = { type: 'user', id: user.id, name: user.name };
      await this.audit.recordDirect(caller, 'user.password.change', self, { reason: 'wrong_password' }, 'failure');
      throw error;
    }
  }

  private async findLinkOwner(tokenHash: Buffer): Promise<User | null> {
    return this.findResettable(this.worker, await this.repository.findLinkUserId(this.worker, tokenHash));
  }

  /** Succeeds for exactly one of concurrent callers. @returns false when the link is invalid by now */
  private replaceByLink(tokenHash: Buffer, passwordHash: string): Promise<boolean> {
    return this.worker.transaction(async (tx) => {
      const user = await this.findResettable(tx, await this.repository.useLink(tx, tokenHash));
      if (!user || isSsoOnly(user)) return false;
      const caller = selfCaller(user, user.memberships[0] ?? null);
      return this.replace(tx, caller, user, { passwordHash, expectedHash: null, reason: 'password_reset' });
    });
  }

  /** A user who has to use single sign-on is returned too, and refused with that reason. */
  private async findResettable(db: SqlExecutor, userId: string | null): Promise<User | null> {
    const user = userId === null ? null : await this.repository.findUser(db, userId);
    return user && (canResetPassword(user) || isSsoOnly(user)) ? user : null;
  }

  private async refuseEnforced(
    caller: AuditedCaller,
    { id, name }: User,
    action: 'user.password.change' | 'user.password.reset',
  ): Promise<never> {
    await this.audit.recordDirect(caller, action, { type: 'user', id, name }, { reason: 'sso_enforced' }, 'denied');
    throw new SsoEnforced();
  }

  /** @param user  the user of the link, or null when it is unknown */
  private async refuseReset(user: User | null): Promise<never> {
    const caller = user ? selfCaller(user, user.memberships[0] ?? null) : unknownCaller();
    const resource = { type: 'user', id: user?.id ?? null, name: user?.name ?? null };
    await this.audit.recordDirect(caller, 'user.password.reset', resource, { reason: 'token_invalid' }, 'failure');
    throw new ResetTokenInvalid();
  }

  /**
   * Stores a new password with everything that follows from it: sessions end, and audit entry and mail are written.
   * @returns false when the account has another password by now
   */
  private async replace(
    tx: OutboxTransaction,
    caller: AuditedCaller,
    { id, name, email }: User,
    { passwordHash, expectedHash, reason }: NewPassword,
  ): Promise<boolean> {
    if (!(await this.repository.replace(tx, id, passwordHash, expectedHash))) return false;
    await this.revocations.revokeAll(tx, id, reason);
    await this.audit.record(tx, caller, ACTIONS[reason], { type: 'user', id, name });
    await this.mail.add(tx, { to: email, template: 'password-changed', values: { name } });
    return true;
  }
}
