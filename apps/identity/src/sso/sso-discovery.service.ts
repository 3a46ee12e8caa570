import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimits } from '@rmm/rate-limits';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { LoginContextDto, SsoCheckDto, SsoDiscoveryDto } from './dto/sso-login.dto.js';
import { domainOf } from './email-domain.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';

const LOGIN_PATH = '/api/v1/sso/login';
/** Every discovery takes at least this long, so that its time reveals nothing. */
const FLOOR_MS = 350;

/** Shows clients, before a user is signed in, where single sign-on is available. Never reads users. */
@Injectable()
export class SsoDiscoveryService {
  constructor(
    private readonly providers: SsoProvidersRepository,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Returns the provider of an organization; the same for one that is unknown, not active or without provider. */
  async check(orgId: string, client: string): Promise<SsoCheckDto> {
    await this.limits.hit(this.config.limits.ssoCheck, client);
    const provider = await this.providers.findActive({ orgId });
    if (!provider || !(await this.providers.isTenantActive(provider))) return { ssoEnabled: false };
    const { id, name, type, enforceSso: enforceSSO } = provider;
    return { ssoEnabled: true, provider: { id, name, type }, enforceSSO, loginUrl: `${LOGIN_PATH}/${orgId}` };
  }

  /** Finds the provider of an address by its domain: proven by one organization, whose oldest active provider is enforced. */
  async discover(email: string, client: string): Promise<SsoDiscoveryDto> {
    await this.limits.hit(this.config.limits.ssoDiscovery, client);
    const [found] = await Promise.all([this.findEnforced(domainOf(email)), sleep(FLOOR_MS)]);
    return { sso: found };
  }

  /** Returns what the login page of a self-hosted fleet with one partner offers to its staff. */
  async getLoginContext(client: string): Promise<LoginContextDto> {
    await this.limits.hit(this.config.limits.ssoCheck, client);
    const partnerId = this.config.isHosted ? null : await this.providers.findOnlyPartner();
    const provider = partnerId === null ? null : await this.providers.findActive({ partnerId, orgId: null });
    if (!provider || !(await this.providers.isTenantActive(provider))) return { branding: null, partnerSso: null };
    const loginUrl = `${LOGIN_PATH}/partner/${provider.partnerId}`;
    return { branding: null, partnerSso: { providerName: provider.name, loginUrl } };
  }

  private async findEnforced(domain: string | null): Promise<SsoDiscoveryDto['sso']> {
    const orgId = domain === null ? null : await this.providers.findDomainOwner(domain);
    const provider = orgId === null ? null : await this.providers.findActive({ orgId });
    if (!provider?.enforceSso || !(await this.providers.isTenantActive(provider))) return null;
    return { providerName: provider.name, loginUrl: `${LOGIN_PATH}/${orgId}`, enforceSSO: true };
  }
}
