import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { hashKey, KeyRing, mintLinkToken, mintOpaqueToken } from '@rmm/secrets';
import { readAssertedUser, type AssertedUser } from './asserted-user.js';
import { OidcClient, type ProviderClaims } from './oidc/oidc-client.service.js';
import { openProvider } from './open-provider.js';
import { SsoAccountsService } from './sso-accounts.service.js';
import { SsoFlowsRepository, type TakenFlow } from './sso-flows.repository.js';
import { SsoIdentitiesService } from './sso-identities.service.js';
import { flowSealContext, type FlowSecrets } from './sso-login.service.js';
import type { SsoProvider } from './sso-provider.entity.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';
import { SsoRefusalsService, type CallbackProgress } from './sso-refusals.service.js';
import { AddressTaken, SsoRefused } from './sso.errors.js';

/** The location for the browser after a callback, and the cookie that ties its code to it. */
export interface CallbackResult {
  location: string;
  browserKey: string | null;
}

const CODE_LENGTH = 48;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const MFA = 'mfa';
/** Concurrent first logins of one address: the second attempt finds the account of the first. */
const ATTEMPTS = 3;

/**
 * Completes logins at identity providers. Never responds with an error: every failure sends the browser to the login page
 * with a code and leaves an audit entry. No transaction is open while the provider is called. @see docs/reference/sso.md
 */
@Injectable()
export class SsoCallbackService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly providers: SsoProvidersRepository,
    private readonly flows: SsoFlowsRepository,
    private readonly oidc: OidcClient,
    private readonly accounts: SsoAccountsService,
    private readonly identities: SsoIdentitiesService,
    private readonly keyRing: KeyRing,
    private readonly refusals: SsoRefusalsService,
  ) {}

  /**
   * @param response  the parameters that the provider sent
   * @param browserKey  the cookie of the browser that began the login
   * @param client  key of the rate limit
   */
  async complete(response: URLSearchParams, browserKey: string | undefined, client: string): Promise<CallbackResult> {
    const progress: CallbackProgress = { provider: null, flow: null };
    try {
      await this.refusals.count(client);
      const flow = (progress.flow = await this.takeFlow(response, browserKey));
      const provider = (progress.provider = await this.getProvider(flow));
      if (flow.expired) throw new SsoRefused('session_expired');
      if (flow.configVersion !== provider.configVersion) throw new SsoRefused('sso_config_changed');
      const claims = await this.verify(provider, flow, response);
      const asserted = await this.readUser(provider, claims);
      if (flow.purpose === 'login') return await this.login(provider, flow, claims, asserted);
      const fragment = await this.identities.complete(flow, provider, asserted);
      return { location: this.refusals.returnTo(flow.returnTo, fragment), browserKey: null };
    } catch (error) {
      return { location: await this.refusals.refuse(error, progress), browserKey: null };
    }
  }

  private async takeFlow(response: URLSearchParams, browserKey: string | undefined): Promise<TakenFlow> {
    const states = response.getAll('state');
    const [state = ''] = states;
    if (states.length !== 1) throw new SsoRefused('invalid_callback', 'no state');
    if (!TOKEN.test(state) || !browserKey || !TOKEN.test(browserKey)) throw new SsoRefused('session_invalid');
    const flow = await this.flows.takeFlow(hashKey(state), hashKey(browserKey));
    if (!flow) throw new SsoRefused('session_invalid');
    return flow;
  }

  private async getProvider({ providerId }: TakenFlow): Promise<SsoProvider> {
    const provider = await this.providers.find(providerId);
    const isUsable = provider?.status === 'active' && (await this.providers.isTenantActive(provider));
    if (!provider || !isUsable) throw new SsoRefused('provider_not_found');
    return provider;
  }

  private verify(row: SsoProvider, flow: TakenFlow, response: URLSearchParams): Promise<ProviderClaims> {
    const opened = this.keyRing.open(flow.secretsSealed, flowSealContext(flow.stateHash));
    const { nonce, verifier } = JSON.parse(opened) as FlowSecrets;
    return this.oidc.finish(openProvider(this.keyRing, row), response, {
      ...{ nonce, verifier, state: response.get('state') ?? '', redirectUri: this.refusals.callbackUrl },
      isReauth: flow.purpose === 'reauth',
    });
  }

  /** @throws SsoRefused for an address that is not verified, or in a domain that may not sign in */
  private async readUser(provider: SsoProvider, claims: ProviderClaims): Promise<AssertedUser> {
    const asserted = readAssertedUser(claims, provider.attributeMapping);
    const { domain } = asserted;
    const { allowedDomains, orgId } = provider;
    if (allowedDomains.length > 0 && (domain === null || !allowedDomains.includes(domain))) {
      throw new SsoRefused('domain_not_allowed');
    }
    const owner = domain === null || orgId === null ? null : await this.providers.findDomainOwner(domain);
    return { ...asserted, isDomainProven: owner !== null && owner === orgId };
  }

  private async login(
    provider: SsoProvider,
    flow: TakenFlow,
    { amr, sid }: ProviderClaims,
    asserted: AssertedUser,
  ): Promise<CallbackResult> {
    const [code, browser] = [mintLinkToken(CODE_LENGTH), mintOpaqueToken()];
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.worker.transaction(async (tx) => {
          if (!(await this.providers.lockUnchanged(tx, provider))) throw new SsoRefused('sso_config_changed');
          const { user } = await this.accounts.resolve(tx, provider, asserted);
          await this.identities.recordLogin(tx, provider.id, asserted.subject);
          await this.flows.insertCode(tx, {
            ...{ codeHash: code.keyHash, browserHash: browser.keyHash, providerId: provider.id, userId: user.id },
            ...{ configVersion: provider.configVersion, authEpoch: user.authEpoch, ssoSid: sid },
            idpMfa: provider.trustsIdpMfa && amr.includes(MFA),
          });
        });
        break;
      } catch (error) {
        if (!(error instanceof AddressTaken)) throw error;
        if (attempt === ATTEMPTS) throw new SsoRefused('user_creation_failed', 'address taken', { cause: error });
      }
    }
    return { location: this.refusals.returnTo(flow.returnTo, `ssoCode=${code.key}`), browserKey: browser.key };
  }
}
