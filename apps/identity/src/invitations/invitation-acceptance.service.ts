import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { WorkerDatabase } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { ValidationError } from '@rmm/service-kit';
import { LoginFailed } from '../login/login.errors.js';
import { MembershipsService } from '../members/memberships.service.js';
import { MfaLoginService, type LoginResult } from '../mfa/mfa-login.service.js';
import { PasswordHasher } from '../passwords/password-hasher.service.js';
import { PasswordVerificationService } from '../passwords/password-verification.service.js';
import { assertStrongPassword } from '../passwords/password.policy.js';
import { LoginSessionsService, type FinishedLogin } from '../sessions/login-sessions.service.js';
import { tenantIsActive } from '../users/user.types.js';
import type { AcceptInviteDto } from './dto/accept-invitation.dto.js';
import type { InvitePreviewDto } from './dto/invitation.dto.js';
import { InvitationLinksService } from './invitation-links.service.js';
import { InviteAlreadyAccepted, InviteInvalid, InviteNotFound } from './invitation.errors.js';
import { InvitationsRepository, type InvitationOffer } from './invitations.repository.js';

const LINK_TOKEN = /^[A-Za-z0-9_-]{48}$/;

/**
 * Preview and acceptance of invitations. Runs under the worker login, because the user is no member of the tenant yet.
 * @see docs/reference/authentication.md
 */
@Injectable()
export class InvitationAcceptanceService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly invitations: InvitationsRepository,
    private readonly links: InvitationLinksService,
    private readonly memberships: MembershipsService,
    private readonly hasher: PasswordHasher,
    private readonly passwords: PasswordVerificationService,
    private readonly logins: LoginSessionsService,
    private readonly mfaLogins: MfaLoginService,
  ) {}

  /** @throws InviteNotFound 404; InviteAlreadyAccepted 410; RateLimitedError */
  async preview(token: string, client: string): Promise<InvitePreviewDto> {
    await this.links.countPreview(client);
    const offer = await this.findOffer(token);
    if (offer?.used) throw new InviteAlreadyAccepted();
    if (!offer || !isOpen(offer)) throw new InviteNotFound();
    const { email, name, partnerName, orgName } = offer;
    return { email, name, ...(orgName ? { orgName } : partnerName && { partnerName }) };
  }

  /**
   * Accepts the invitation of a new account, which chooses its password, or of an existing one, which proves its own and
   * then its factor. A refused password does not use the link up.
   * @throws InviteInvalid, WeakPassword, LoginFailed, IpNotAllowed, ValidationError, RateLimitedError
   */
  async accept(dto: AcceptInviteDto, client: string): Promise<LoginResult> {
    const offer = await this.getOffer(dto.token, client);
    const { password } = dto;
    if (password === undefined) throw ValidationError.forField('password', 'is required without a bearer token');
    return offer.status === 'invited'
      ? this.activate({ ...dto, password }, offer)
      : this.acceptWithPassword(dto.token, password, offer);
  }

  /**
   * Accepts an invitation of the signed-in user, whose session continues in the new membership.
   * @throws InviteInvalid, also for a link of another user; IpNotAllowed, RateLimitedError
   */
  async acceptSignedIn(caller: UserCaller, token: string, client: string): Promise<FinishedLogin> {
    const offer = await this.getOffer(token, client);
    if (offer.userId !== caller.userId) throw new InviteInvalid();
    const started = await this.worker.transaction(async (tx) => {
      const { user, membership } = await this.memberships.accept(tx, hashKey(token), caller.userId);
      return this.logins.reenter(tx, caller, user, membership);
    });
    return this.logins.finish(started);
  }

  /** The policies of the tenants that the account belongs to by then decide about its new password. */
  private async activate({ token, password, name }: AcceptInviteDto & { password: string }, offer: InvitationOffer) {
    const memberships = (await this.invitations.findUser(this.worker, offer.userId))?.memberships ?? [];
    const owner = { email: offer.email, name: name ?? offer.name, memberships: [...memberships, offer] };
    await assertStrongPassword(password, owner);
    const passwordHash = await this.hasher.hash(password);
    const tokenHash = hashKey(token);
    const started = await this.worker.transaction(async (tx) => {
      if (!(await this.invitations.activate(tx, tokenHash, offer.userId, { passwordHash, name: name ?? null }))) {
        throw new InviteInvalid();
      }
      const account = await this.invitations.findUser(tx, offer.userId);
      // An account that had a factor before keeps it: the membership is accepted with the code.
      if (account && this.mfaLogins.isRequired(account)) return null;
      const { user, membership } = await this.memberships.accept(tx, tokenHash, offer.userId);
      return this.logins.start(tx, user, membership, { method: 'invite', mfa: false, passwordProven: true });
    });
    return started ? this.logins.finish(started) : this.challenge(tokenHash, offer);
  }

  private async acceptWithPassword(token: string, password: string, offer: InvitationOffer): Promise<LoginResult> {
    const tokenHash = hashKey(token);
    const user = await this.invitations.findUser(this.worker, offer.userId);
    const refusal = await this.passwords.verifyLogin(user, password);
    if (!user || refusal) {
      await this.memberships.recordRefusedAcceptance(user, refusal ?? 'unknown_address');
      throw new LoginFailed();
    }
    if (this.mfaLogins.isRequired(user)) return this.challenge(tokenHash, offer);
    const started = await this.worker.transaction(async (tx) => {
      const accepted = await this.memberships.accept(tx, tokenHash, user.id);
      const options = { method: 'password', mfa: false, passwordProven: true } as const;
      return this.logins.start(tx, accepted.user, accepted.membership, options);
    });
    return this.logins.finish(started);
  }

  private async challenge(
    tokenHash: Buffer,
    { userId, scope, partnerId, orgId }: InvitationOffer,
  ): Promise<LoginResult> {
    const user = await this.invitations.findUser(this.worker, userId);
    if (!user) throw new InviteInvalid();
    return this.mfaLogins.challenge(user, { scope, partnerId, orgId }, { invitation: tokenHash });
  }

  /** @throws InviteInvalid; IpNotAllowed by the inviting tenant; RateLimitedError */
  private async getOffer(token: string, client: string): Promise<InvitationOffer> {
    await this.links.countAcceptance(client);
    const offer = await this.findOffer(token);
    if (!offer || offer.used || !isOpen(offer) || !tenantIsActive(offer)) throw new InviteInvalid();
    await this.logins.assertAddressAllowed({ id: offer.userId, email: offer.email }, offer);
    return offer;
  }

  private findOffer(token: string): Promise<InvitationOffer | null> {
    return LINK_TOKEN.test(token) ? this.invitations.findOffer(hashKey(token)) : Promise.resolve(null);
  }
}

const isOpen = ({ expired, status }: InvitationOffer): boolean => !expired && status !== 'disabled';
