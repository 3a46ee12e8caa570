import { Injectable } from '@nestjs/common';
import { AuditTrail, type AuditedCaller } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { AccessChangesService } from '../access/access-changes.service.js';
import { OidcClient } from './oidc/oidc-client.service.js';
import { openProvider } from './open-provider.js';
import { SsoIdentitiesRepository } from './sso-identities.repository.js';
import type { SsoProvider } from './sso-provider.entity.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';
import { SsoRefusalsService } from './sso-refusals.service.js';
import { LogoutTokenInvalid } from './sso.errors.js';

const MAX_TOKEN = 16_384;

/** Sessions that a logout token names. */
interface EndedSessions {
  providerId: string;
  userId: string | null;
  sid: string | null;
}

/**
 * Ends the sessions that an identity provider names in a logout token (OpenID Connect Back-Channel Logout 1.0): those of
 * a subject, or one.
 */
@Injectable()
export class BackchannelLogoutService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly providers: SsoProvidersRepository,
    private readonly identities: SsoIdentitiesRepository,
    private readonly oidc: OidcClient,
    private readonly keyRing: KeyRing,
    private readonly audit: AuditTrail,
    private readonly accessChanges: AccessChangesService,
    private readonly refusals: SsoRefusalsService,
  ) {}

  /**
   * @param form  the body of the request, `logout_token=...`
   * @param client  key of the rate limit
   * @throws LogoutTokenInvalid, also for an unknown provider; RateLimitedError
   */
  async end(providerId: string, form: string, client: string): Promise<void> {
    await this.refusals.countBackchannelLogout(client);
    const [token, ...more] = new URLSearchParams(form).getAll('logout_token');
    if (!token || more.length > 0 || token.length > MAX_TOKEN) throw new LogoutTokenInvalid();
    const row = await this.providers.find(providerId);
    if (row?.type !== 'oidc' || row.status === 'inactive') throw new LogoutTokenInvalid();
    const { subject, sid = null } = await this.oidc.verifyLogoutToken(openProvider(this.keyRing, row), token);
    const userId = subject === undefined ? null : await this.identities.findUserId(this.worker, providerId, subject);
    if (subject !== undefined && userId === null) return; // has never signed in here
    await this.endSessions(row, { providerId, userId, sid });
  }

  private async endSessions(provider: SsoProvider, sessions: EndedSessions): Promise<void> {
    const { partnerId, orgId } = provider;
    await this.worker.transaction(async (tx) => {
      const ended = await this.identities.endSessions(tx, sessions);
      const userIds = [...new Set(ended)];
      if (userIds.length === 0) return;
      await this.accessChanges.publish(tx, { userIds, reason: 'sso_logout' });
      const details = { by: 'identity_provider', providerId: provider.id, sessions: ended.length };
      for (const id of userIds) {
        const caller: AuditedCaller = { actor: { type: 'user', id }, tenant: { partnerId, orgId } };
        await this.audit.record(tx, caller, 'user.logout', { type: 'user', id }, details);
      }
    });
  }
}
