import { Module } from '@nestjs/common';
import { NameServerTxtResolver, Outbound, TxtResolver } from '@rmm/outbound';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { AccessSourceModule } from '../access/access-source.module.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { InvitationsRepositoryModule } from '../invitations/invitations-repository.module.js';
import { MailModule } from '../mail/mail.module.js';
import { MemberScopeModule } from '../members/member-scope.module.js';
import { MembersRepositoryModule } from '../members/members-repository.module.js';
import { MfaPolicyModule } from '../mfa/mfa-policy.module.js';
import { MfaModule } from '../mfa/mfa.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { BackchannelLogoutController } from './backchannel-logout.controller.js';
import { BackchannelLogoutService } from './backchannel-logout.service.js';
import { DeleteExpiredSsoLoginsJob } from './delete-expired-sso-logins.job.js';
import { OidcClient } from './oidc/oidc-client.service.js';
import { OidcTransport } from './oidc/oidc-transport.service.js';
import { SsoAccountController } from './sso-account.controller.js';
import { SsoAccountsService } from './sso-accounts.service.js';
import { SsoCallbackService } from './sso-callback.service.js';
import { SsoCookies } from './sso-cookies.service.js';
import { SsoDefaultRolePolicy } from './sso-default-role.policy.js';
import { SsoDiscoveryController } from './sso-discovery.controller.js';
import { SsoDiscoveryService } from './sso-discovery.service.js';
import { SsoDomainsController } from './sso-domains.controller.js';
import { SsoDomainsRepository } from './sso-domains.repository.js';
import { SsoDomainsService } from './sso-domains.service.js';
import { SsoExchangeService } from './sso-exchange.service.js';
import { SsoFlowsRepository } from './sso-flows.repository.js';
import { SsoIdentitiesRepository } from './sso-identities.repository.js';
import { SsoIdentitiesService } from './sso-identities.service.js';
import { SsoLinksService } from './sso-links.service.js';
import { SsoLoginController } from './sso-login.controller.js';
import { SsoLoginService } from './sso-login.service.js';
import { SsoLogoutService } from './sso-logout.service.js';
import { SsoProviderChangesService } from './sso-provider-changes.service.js';
import { SsoProviderTestsService } from './sso-provider-tests.service.js';
import { SsoProvidersController } from './sso-providers.controller.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';
import { SsoProvidersService } from './sso-providers.service.js';
import { SsoReauthGrantsModule } from './sso-reauth-grants.module.js';
import { SsoRefusalsService } from './sso-refusals.service.js';

/** Single sign-on with OpenID Connect: providers, domains, logins, identities, logout. */
@Module({
  imports: [
    AccessChangesModule,
    AccessSourceModule,
    InvitationsRepositoryModule,
    MailModule,
    MemberScopeModule,
    MembersRepositoryModule,
    MfaModule,
    MfaPolicyModule,
    PasswordsModule,
    RolesModule,
    SessionsModule,
    SsoReauthGrantsModule,
    UsersModule,
  ],
  controllers: [
    BackchannelLogoutController,
    SsoAccountController,
    SsoDiscoveryController,
    SsoDomainsController,
    SsoLoginController,
    SsoProvidersController,
  ],
  providers: [
    BackchannelLogoutService,
    OidcClient,
    OidcTransport,
    SsoAccountsService,
    SsoCallbackService,
    DeleteExpiredSsoLoginsJob,
    SsoCookies,
    SsoDefaultRolePolicy,
    SsoDiscoveryService,
    SsoDomainsRepository,
    SsoDomainsService,
    SsoExchangeService,
    SsoFlowsRepository,
    SsoIdentitiesRepository,
    SsoIdentitiesService,
    SsoLinksService,
    SsoLoginService,
    SsoLogoutService,
    SsoProviderChangesService,
    SsoProviderTestsService,
    SsoProvidersRepository,
    SsoProvidersService,
    SsoRefusalsService,
    { provide: Outbound, inject: [IDENTITY_CONFIG], useFactory: createOutbound },
    {
      provide: TxtResolver,
      inject: [IDENTITY_CONFIG],
      useFactory: ({ sso }: IdentityConfig) => new NameServerTxtResolver(sso.dnsServers),
    },
  ],
  exports: [SsoIdentitiesRepository, SsoProvidersRepository],
})
export class SsoModule {}

/** Unless the operator allows private providers, the rules of hosted fleets apply: https and public addresses. */
function createOutbound({ isHosted, publicApiUrl, sso, ...config }: IdentityConfig): Outbound {
  return new Outbound({
    isHosted: isHosted || !sso.allowPrivate,
    extraAllowedCidrs: config.outboundExtraAllowedCidrs.map(({ text }) => text),
    blockedCidrs: config.outboundBlockedCidrs.map(({ text }) => text),
    ownUrl: publicApiUrl,
  });
}
