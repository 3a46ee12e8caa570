import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { RateLimits } from '@rmm/rate-limits';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { SsoTestDto } from './dto/sso-provider.dto.js';
import { OidcClient } from './oidc/oidc-client.service.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';
import { assertMayManage, auditedProvider } from './sso-providers.service.js';
import { OidcDiscoveryFailed, SamlNotSupported } from './sso.errors.js';

/** Checks whether a provider can be reached. */
@Injectable()
export class SsoProviderTestsService {
  constructor(
    private readonly providers: SsoProvidersRepository,
    private readonly oidc: OidcClient,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Runs discovery and saves nothing. @throws NotFoundError, OidcDiscoveryFailed, SamlNotSupported, RateLimitedError */
  async test(caller: UserCaller, id: string): Promise<SsoTestDto> {
    await this.limits.hit(this.config.limits.ssoProviderTest, caller.userId);
    const row = await this.providers.get(caller, id);
    assertMayManage(caller, row.orgId);
    if (row.type === 'saml') throw new SamlNotSupported();
    const { issuer } = row;
    if (issuer === null) throw new OidcDiscoveryFailed('The provider has no issuer');
    try {
      const { authorizationEndpoint, tokenEndpoint, userInfoEndpoint } = await this.oidc.discover(issuer);
      await this.audit.recordDirect(caller, 'sso.provider.test', auditedProvider(row));
      const discovery = { issuer, authorizationEndpoint, tokenEndpoint, userInfoEndpoint };
      return { success: true, message: 'The provider was discovered', discovery };
    } catch (error) {
      const reason = error instanceof OidcDiscoveryFailed ? error.sentence : undefined;
      await this.audit.recordDirect(caller, 'sso.provider.test', auditedProvider(row), { reason }, 'failure');
      throw error;
    }
  }
}
