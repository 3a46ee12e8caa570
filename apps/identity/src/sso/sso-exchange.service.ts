import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { MfaGraceService } from '../mfa/mfa-grace.service.js';
import { MfaLoginService, type LoginResult } from '../mfa/mfa-login.service.js';
import { LoginSessionsService } from '../sessions/login-sessions.service.js';
import { UsersRepository } from '../users/users.repository.js';
import { findMembership, type SsoUser } from './sso-accounts.service.js';
import { SsoFlowsRepository, type TakenCode } from './sso-flows.repository.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';
import { SsoRefusalsService } from './sso-refusals.service.js';

const CODE = /^[A-Za-z0-9_-]{48}$/;

/** Exchanges the code of a completed callback for a session. @see docs/reference/sso.md */
@Injectable()
export class SsoExchangeService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly users: UsersRepository,
    private readonly providers: SsoProvidersRepository,
    private readonly flows: SsoFlowsRepository,
    private readonly mfaLogins: MfaLoginService,
    private readonly grace: MfaGraceService,
    private readonly logins: LoginSessionsService,
    private readonly refusals: SsoRefusalsService,
  ) {}

  /**
   * Creates a session, or a challenge for the local factor when the provider did not vouch for one.
   * @param browserKey  the cookie of the callback; null for a client that is no browser
   * @param client  key of the rate limit
   * @throws SsoCodeInvalid for exactly all but one of concurrent calls; IpNotAllowed, RateLimitedError
   */
  async exchange(code: string, browserKey: string | null, client: string): Promise<LoginResult> {
    await this.refusals.countExchange(client);
    const browserHash = browserKey === null ? null : hashKey(browserKey);
    const taken = CODE.test(code) ? await this.flows.takeCode(hashKey(code), browserHash) : null;
    const found = taken && (await this.findUser(taken));
    if (!taken || !found) return this.refusals.refuseCode();
    const { user, membership } = found;
    const { providerId, configVersion, idpMfa, ssoSid: sid } = taken;
    await this.logins.assertAddressAllowed(user, membership);
    const sso = { providerId, configVersion, sid };
    if (this.mfaLogins.isRequired(user) && !idpMfa) return this.mfaLogins.challenge(user, membership, { sso });
    // A policy that demands a factor of its own is not met by the provider's word for a user without one.
    const mfa = idpMfa && (user.mfaEnabled || !this.grace.evaluate(user, membership).enrollmentRequired);
    const started = await this.worker.transaction((tx) =>
      this.logins.start(tx, user, membership, { method: 'sso', mfa, sso }),
    );
    return this.logins.finish(started);
  }

  /** Returns the user when provider, account and membership are as they were at the callback. */
  private async findUser(code: TakenCode): Promise<SsoUser | null> {
    const [provider, user] = await Promise.all([
      this.providers.find(code.providerId),
      this.users.findById(this.worker, code.userId),
    ]);
    const isCurrent = provider?.status === 'active' && provider.configVersion === code.configVersion;
    if (!isCurrent || user?.status !== 'active' || user.authEpoch !== code.authEpoch) return null;
    const membership = findMembership(provider, user);
    return membership ? { user, membership } : null;
  }
}
