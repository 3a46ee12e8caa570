import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { RateLimits } from '@rmm/service-kit';
import { AccessChangesService } from '../access/access-changes.service.js';
import { selfCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { PasswordHasher } from '../passwords/password-hasher.service.js';
import { assertStrongPassword } from '../passwords/password-rules.js';
import { LoginSessionsService, type FinishedLogin } from '../sessions/login-sessions.service.js';
import { tenantIsActive, type UserMembership } from '../users/user.js';
import type { AcceptInviteDto } from './dto/accept-invitation.dto.js';
import type { InvitePreviewDto } from './dto/invitation.dto.js';
import { InviteAlreadyAccepted, InviteInvalid, InviteNotFound } from './invitation.errors.js';
import { InvitationsRepository, type InvitationOffer } from './invitations.repository.js';

const LINK_TOKEN = /^[A-Za-z0-9_-]{48}$/;

/** Preview and acceptance of invitations by users who are not signed in; runs under the worker login. */
@Injectable()
export class InvitationAcceptanceService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly invitations: InvitationsRepository,
    private readonly hasher: PasswordHasher,
    private readonly logins: LoginSessionsService,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws InviteNotFound 404; InviteAlreadyAccepted 410; RateLimitedError */
  async preview(token: string, client: string): Promise<InvitePreviewDto> {
    await this.limits.hit(this.config.limits.previewInvite, client);
    const offer = await this.findOffer(token);
    if (offer?.used) throw new InviteAlreadyAccepted();
    if (!offer || offer.expired || offer.status !== 'invited') throw new InviteNotFound();
    const { email, name, partnerName, orgName } = offer;
    return { email, name, ...(orgName ? { orgName } : partnerName && { partnerName }) };
  }

  /**
   * Activates the user with the chosen password and logs in. A weak password does not use the link up.
   * @throws InviteInvalid, WeakPassword, RateLimitedError
   */
  async accept({ token, password, name }: AcceptInviteDto, client: string): Promise<FinishedLogin> {
    await this.limits.hit(this.config.limits.acceptInvite, client);
    const offer = await this.findOffer(token);
    if (!offer || offer.used || offer.expired || offer.status !== 'invited') throw new InviteInvalid();
    const memberships = (await this.invitations.findUser(this.worker, offer.userId))?.memberships;
    await assertStrongPassword(password, { email: offer.email, name: name ?? offer.name, memberships });
    const passwordHash = await this.hasher.hash(password);
    const started = await this.worker.transaction(async (tx) => {
      const userId = await this.invitations.accept(tx, hashKey(token), { passwordHash, name: name ?? null });
      const user = userId === null ? null : await this.invitations.findUser(tx, userId);
      const membership = user && findMembership(user.memberships, offer);
      if (!user || !membership) throw new InviteInvalid();
      await this.accessChanges.publish(tx, { userIds: [user.id], reason: 'invite_accepted' });
      const resource = { type: 'user', id: user.id, name: user.name };
      await this.audit.record(tx, selfCaller(user, membership), 'user.invite.accepted', resource);
      return this.logins.start(tx, user, membership, { method: 'invite', mfa: false, passwordProven: true });
    });
    return this.logins.finish(started);
  }

  private findOffer(token: string): Promise<InvitationOffer | null> {
    return LINK_TOKEN.test(token) ? this.invitations.findOffer(hashKey(token)) : Promise.resolve(null);
  }
}

/** Returns the membership the link invites to, else the first one of an active tenant. */
function findMembership(memberships: UserMembership[], offer: InvitationOffer): UserMembership | null {
  const active = memberships.filter(tenantIsActive);
  const offered = active.find(({ partnerId, orgId }) => partnerId === offer.partnerId && orgId === offer.orgId);
  return offered ?? active[0] ?? null;
}
