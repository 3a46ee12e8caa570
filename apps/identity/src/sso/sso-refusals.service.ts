import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail, type AuditedCaller } from '@rmm/messaging';
import { RateLimits } from '@rmm/rate-limits';
import { Logger, RateLimitedError } from '@rmm/service-kit';
import { unknownCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { LoginAuditService } from '../sessions/login-audit.service.js';
import { LoginMetrics } from '../sessions/login.metrics.js';
import type { TakenFlow } from './sso-flows.repository.js';
import { errorLocation, returnLocation } from './sso-locations.js';
import { callbackUrl } from './sso-login.service.js';
import type { SsoProvider } from './sso-provider.entity.js';
import { InvalidProviderConfiguration, SsoCodeInvalid, SsoRefused } from './sso.errors.js';

/** The state of a callback when it fails, for the audit entry. */
export interface CallbackProgress {
  provider: SsoProvider | null;
  flow: TakenFlow | null;
}

/** Limits callbacks, and turns their results and failures into redirects. */
@Injectable()
export class SsoRefusalsService {
  constructor(
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly logins: LoginAuditService,
    private readonly metrics: LoginMetrics,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  get callbackUrl(): string {
    return callbackUrl(this.config);
  }

  async count(client: string): Promise<void> {
    await this.limits.hit(this.config.limits.ssoCallback, client);
  }

  async countExchange(client: string): Promise<void> {
    await this.limits.hit(this.config.limits.ssoExchange, client);
  }

  async countBackchannelLogout(client: string): Promise<void> {
    await this.limits.hit(this.config.limits.ssoBackchannelLogout, client);
  }

  /** Records an exchange with a code that is unknown, used or expired. @throws SsoCodeInvalid */
  async refuseCode(): Promise<never> {
    const details = { reason: 'sso_code_invalid', method: 'sso' };
    await this.logins.recordFailure(unknownCaller(), { type: 'user' }, details, 'sso');
    throw new SsoCodeInvalid();
  }

  returnTo(path: string, fragment: string): string {
    return returnLocation(this.config.publicAppUrl, path, fragment);
  }

  /** Records the failure. @returns the login page with the code */
  async refuse(error: unknown, { provider, flow }: CallbackProgress): Promise<string> {
    const refusal = toRefusal(error);
    const { code, detail = null } = refusal;
    if (refusal !== error && code !== 'rate_limited') {
      this.logger.error({ err: error, code }, 'single sign-on failed; the browser was sent to the login page');
    } else {
      this.logger.debug({ err: refusal.cause, code, detail }, 'single sign-on refused');
    }
    const tenant = { partnerId: provider?.partnerId ?? null, orgId: provider?.orgId ?? null };
    const caller: AuditedCaller = { actor: { type: 'user', id: flow?.userId ?? null }, tenant };
    const resource = {
      type: 'sso_provider',
      id: provider?.id ?? flow?.providerId ?? null,
      name: provider?.name ?? null,
    };
    const details = { code, detail, purpose: flow?.purpose ?? null };
    const isLink = flow?.purpose === 'link';
    if (!isLink) this.metrics.countLogin('sso', code);
    await this.audit
      .recordDirect(
        caller,
        isLink ? 'sso.identity.link_rejected' : 'sso.callback.rejected',
        resource,
        details,
        'denied',
      )
      .catch((err: unknown) =>
        this.logger.error({ err, code }, 'audit entry of a refused sign-on could not be stored'),
      );
    return errorLocation(this.config.publicAppUrl, code);
  }
}

function toRefusal(error: unknown): SsoRefused {
  if (error instanceof SsoRefused) return error;
  const options = { cause: error };
  if (error instanceof RateLimitedError) return new SsoRefused('rate_limited', undefined, options);
  if (error instanceof InvalidProviderConfiguration)
    return new SsoRefused('invalid_provider_configuration', undefined, options);
  return new SsoRefused('sso_error', 'unexpected', options);
}
