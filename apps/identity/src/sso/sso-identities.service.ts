import { Injectable } from '@nestjs/common';
import { MfaRequired, type UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { toPage, type Paged, type PageQueryDto } from '@rmm/validation';
import { selfCaller } from '../audit/actors.js';
import { AccountProofsService, type AccountProofs } from '../passwords/account-proofs.service.js';
import { SessionsService, type SessionUser } from '../sessions/sessions.service.js';
import type { AssertedUser } from './asserted-user.js';
import type { SsoIdentityDto } from './dto/sso-login.dto.js';
import { findMembership } from './sso-accounts.service.js';
import type { TakenFlow } from './sso-flows.repository.js';
import { SsoIdentitiesRepository } from './sso-identities.repository.js';
import { toIdentityDto } from './sso-identity.mapper.js';
import { SsoLinksService } from './sso-links.service.js';
import type { SsoProvider } from './sso-provider.entity.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';
import { SsoReauthGrantsService } from './sso-reauth-grants.service.js';
import { LastSignInMethod, SsoRefused } from './sso.errors.js';

/** The identities of a user at identity providers: lists, links and removes them, and reauthenticates by one. */
@Injectable()
export class SsoIdentitiesService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: SsoIdentitiesRepository,
    private readonly providers: SsoProvidersRepository,
    private readonly sessions: SessionsService,
    private readonly proofs: AccountProofsService,
    private readonly grants: SsoReauthGrantsService,
    private readonly links: SsoLinksService,
    private readonly audit: AuditTrail,
  ) {}

  async list(caller: UserCaller, page: PageQueryDto): Promise<Paged<SsoIdentityDto>> {
    const { rows, ...counted } = await this.repository.list(caller.userId, page);
    return toPage(page, counted, rows.map(toIdentityDto));
  }

  /**
   * Returns the provider that the user may link to: an active one of a tenant it belongs to. The account is proven, and
   * the factor where one is enrolled.
   * @throws NotFoundError, MfaRequired, CurrentPasswordWrong, ReauthenticationRequired, RateLimitedError
   */
  async getLinkable(caller: UserCaller, providerId: string, proofs: AccountProofs): Promise<SsoProvider> {
    const { user } = await this.sessions.getUser(caller);
    if (user.mfaEnabled && !caller.mfa) throw new MfaRequired();
    const provider = await this.providers.find(providerId);
    const isLinkable = provider?.status === 'active' && findMembership(provider, user) !== undefined;
    if (!provider || !isLinkable) throw new NotFoundError('SSO provider');
    await this.proofs.use(caller, user, proofs);
    const self = { type: 'user', id: user.id, name: user.name };
    await this.audit.recordDirect(caller, 'sso.identity.link_started', self, { providerId });
    return provider;
  }

  /**
   * Removes an identity and ends the sessions that its provider opened, but the current one.
   * @throws NotFoundError; LastSignInMethod for an account without a password; CurrentPasswordWrong, RateLimitedError
   */
  async unlink(caller: UserCaller, id: string, currentPassword: string | undefined): Promise<void> {
    const { user } = await this.sessions.getUser(caller);
    if (user.passwordHash === null) throw new LastSignInMethod();
    await this.proofs.use(caller, user, { currentPassword });
    await this.worker.transaction((tx) => this.links.unlink(tx, caller, user, id));
  }

  recordLogin(tx: SqlExecutor, providerId: string, subject: string): Promise<void> {
    return this.repository.recordLogin(tx, providerId, subject);
  }

  /**
   * Completes a link or a reauthentication of the user whose session began it.
   * @returns the fragment for the application
   * @throws SsoRefused
   */
  async complete(flow: TakenFlow, provider: SsoProvider, asserted: AssertedUser): Promise<string> {
    const owner = await this.getOwner(flow, provider);
    return flow.purpose === 'link'
      ? this.link(owner, provider, asserted)
      : this.reauthenticate(owner, provider, asserted);
  }

  /** @throws SsoRefused when session, user or membership ended meanwhile */
  private async getOwner(
    { userId, sessionId }: TakenFlow,
    provider: SsoProvider,
  ): Promise<SessionUser & { sessionId: string }> {
    if (userId === null || sessionId === null) throw new SsoRefused('session_invalid');
    const owner = await this.sessions.findActive(userId, sessionId);
    const membership = owner && findMembership(provider, owner);
    if (!owner || !membership) throw new SsoRefused('session_invalid', 'the session has ended');
    return { user: owner, membership, sessionId };
  }

  private async link({ user }: SessionUser, provider: SsoProvider, asserted: AssertedUser): Promise<string> {
    await this.worker.transaction(async (tx) => {
      if (!(await this.providers.lockUnchanged(tx, provider))) throw new SsoRefused('sso_config_changed');
      await this.links.linkOwn(tx, provider, user, asserted);
    });
    return 'ssoLinked=true';
  }

  private async reauthenticate(
    { user, sessionId }: SessionUser & { sessionId: string },
    provider: SsoProvider,
    { subject }: AssertedUser,
  ): Promise<string> {
    const linkedId = await this.repository.findUserId(this.worker, provider.id, subject);
    if (linkedId !== user.id) throw new SsoRefused('session_invalid', 'another identity');
    const grant = await this.grants.create({ userId: user.id, sessionId });
    const self = { type: 'user', id: user.id, name: user.name };
    await this.audit.recordDirect(selfCaller(user, provider), 'sso.reauth.granted', self, { providerId: provider.id });
    return `ssoReauthGrant=${grant}`;
  }
}
