import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { hashKey, KeyRing, mintOpaqueToken } from '@rmm/secrets';
import { NotFoundError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { OidcClient } from './oidc/oidc-client.service.js';
import { openProvider } from './open-provider.js';
import type { SsoFlow } from './sso-flow.entity.js';
import { SsoFlowsRepository } from './sso-flows.repository.js';
import { SsoIdentitiesRepository } from './sso-identities.repository.js';
import { readReturnTo } from './sso-locations.js';
import type { SsoProvider } from './sso-provider.entity.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';

/** Nonce and PKCE verifier of a login, as they are sealed. */
export interface FlowSecrets {
  nonce: string;
  verifier: string;
}

/** The organization or partner whose members sign in. */
export type SsoTarget = { orgId: string } | { partnerId: string; orgId: null };

/** A login that has begun: where the browser goes, and its cookie. */
export interface StartedFlow {
  location: string;
  browserKey: string;
}

type Purpose = Pick<SsoFlow, 'purpose' | 'userId' | 'sessionId'>;

/** The context that the secrets of a login are sealed for. */
export const flowSealContext = (stateHash: Buffer): string => `sso_flow:${stateHash.toString('hex')}`;

export const callbackUrl = ({ publicApiUrl }: Pick<IdentityConfig, 'publicApiUrl'>): string =>
  `${publicApiUrl}/api/v1/sso/callback`;

/** Begins logins at identity providers. @see docs/reference/sso.md */
@Injectable()
export class SsoLoginService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly providers: SsoProvidersRepository,
    private readonly identities: SsoIdentitiesRepository,
    private readonly flows: SsoFlowsRepository,
    private readonly oidc: OidcClient,
    private readonly keyRing: KeyRing,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Begins a login with the oldest active provider of an organization or partner.
   * @param client  key of the rate limits
   * @throws NotFoundError without such a provider; InvalidProviderConfiguration, RateLimitedError, ValidationError
   */
  async start(target: SsoTarget, returnTo: string | undefined, client: string): Promise<StartedFlow> {
    const path = readReturnTo(returnTo);
    await this.limits.hit(this.config.limits.ssoLoginClient, client);
    await this.limits.hit(this.config.limits.ssoLogin, `${client}|${target.orgId ?? target.partnerId}`);
    const provider = await this.providers.findActive(target);
    if (!provider || !(await this.providers.isTenantActive(provider))) throw new NotFoundError('SSO provider');
    return this.begin(provider, { purpose: 'login', userId: null, sessionId: null }, path);
  }

  /**
   * Has the signed-in user sign in again at the provider of its session, else at the one used last.
   * @throws NotFoundError without a linked, active provider
   */
  async startReauthentication(caller: UserCaller, returnTo: string | undefined): Promise<StartedFlow> {
    const path = readReturnTo(returnTo);
    const provider = await this.findLinkedProvider(caller);
    if (!provider) throw new NotFoundError('SSO provider');
    return this.begin(provider, { purpose: 'reauth', userId: caller.userId, sessionId: caller.sessionId }, path);
  }

  /** Begins a login whose identity is linked to the signed-in user. */
  startLink(caller: UserCaller, provider: SsoProvider, returnTo: string | undefined): Promise<StartedFlow> {
    const purpose = { purpose: 'link', userId: caller.userId, sessionId: caller.sessionId } as const;
    return this.begin(provider, purpose, readReturnTo(returnTo));
  }

  private async findLinkedProvider(caller: UserCaller): Promise<SsoProvider | null> {
    const ofSession = await this.identities.findSource(this.worker, caller.sessionId);
    const linked = await this.identities.listProviderIds(caller.userId);
    const candidates = ofSession !== null && linked.includes(ofSession) ? [ofSession, ...linked] : linked;
    for (const id of candidates) {
      const provider = await this.providers.find(id);
      if (provider?.status === 'active' && provider.type === 'oidc') return provider;
    }
    return null;
  }

  private async begin(row: SsoProvider, purpose: Purpose, returnTo: string): Promise<StartedFlow> {
    const provider = openProvider(this.keyRing, row);
    const [state, browser, nonce, verifier] = [
      mintOpaqueToken(),
      mintOpaqueToken(),
      mintOpaqueToken(),
      mintOpaqueToken(),
    ];
    const secrets: FlowSecrets = { nonce: nonce.key, verifier: verifier.key };
    const location = await this.oidc.authorizationUrl(provider, {
      ...{ ...secrets, redirectUri: callbackUrl(this.config), scopes: row.scopes, state: state.key },
      isReauth: purpose.purpose === 'reauth',
    });
    await this.flows.insert({
      ...purpose,
      stateHash: state.keyHash,
      browserHash: hashKey(browser.key),
      providerId: row.id,
      configVersion: row.configVersion,
      secretsSealed: this.keyRing.seal(JSON.stringify(secrets), flowSealContext(state.keyHash)),
      returnTo,
    });
    return { location: location.href, browserKey: browser.key };
  }
}
