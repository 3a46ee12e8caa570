import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { WorkerDatabase } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import { OidcClient } from './oidc/oidc-client.service.js';
import { openProvider } from './open-provider.js';
import { SsoIdentitiesRepository } from './sso-identities.repository.js';
import { readReturnTo } from './sso-locations.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';

/** Ends sessions here and at the identity provider (RP-initiated logout). @see docs/reference/sso.md */
@Injectable()
export class SsoLogoutService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly providers: SsoProvidersRepository,
    private readonly identities: SsoIdentitiesRepository,
    private readonly revocations: SessionRevocationsService,
    private readonly oidc: OidcClient,
    private readonly keyRing: KeyRing,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Ends every session of the caller.
   * @returns where the browser ends the session at the provider that opened the caller's; null without such a page
   */
  async logout(caller: UserCaller, returnTo: string | undefined): Promise<string | null> {
    const path = readReturnTo(returnTo);
    const providerId = await this.identities.findSource(this.worker, caller.sessionId);
    const row = providerId === null ? null : await this.providers.find(providerId);
    const { userId, partnerId, orgId } = caller;
    await this.revocations.logout({ userId, email: caller.actor.email ?? '', partnerId, orgId });
    if (row?.status !== 'active') return null;
    return this.oidc.endSessionUrl(openProvider(this.keyRing, row), `${this.config.publicAppUrl}${path}`)?.href ?? null;
  }
}
