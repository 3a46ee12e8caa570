import { Inject, Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { MfaChallengeDto } from '../login/dto/mfa-challenge.dto.js';
import type { MembershipKey } from '../members/membership.types.js';
import { PasskeysRepository } from '../passkeys/passkeys.repository.js';
import type { FinishedLogin } from '../sessions/login-sessions.service.js';
import { LoginMetrics } from '../sessions/login.metrics.js';
import type { SsoSource } from '../sessions/sessions.service.js';
import type { User } from '../users/user.types.js';
import { MfaStateRepository } from './mfa-state.repository.js';

/** A completed login, or the request for the second factor. */
export type LoginResult = FinishedLogin | { body: MfaChallengeDto; session: null };

/** Starts the second step of a login; MfaVerificationService completes it. */
@Injectable()
export class MfaLoginService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly state: MfaStateRepository,
    private readonly passkeys: PasskeysRepository,
    private readonly metrics: LoginMetrics,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Returns true when a password alone does not sign the user in. */
  isRequired({ mfaEnabled }: User): boolean {
    return this.config.mfa.enabled && mfaEnabled;
  }

  /**
   * Starts the second step for a user whose password was correct; the temporary token is valid for 300 seconds.
   * @param membership  the one that the session enters
   * @param invitation  hash of the link by which the user becomes a member with the correct code
   * @param sso  the identity provider that signed the user in instead of a password
   */
  async challenge(
    user: User,
    membership: MembershipKey,
    { invitation, sso }: { invitation?: Buffer; sso?: SsoSource } = {},
  ): Promise<LoginResult> {
    const { id: userId, mfaMethod: method, authEpoch, mfaEpoch } = user;
    const { scope, partnerId, orgId } = membership;
    const [tempToken, passkeyAvailable] = await Promise.all([
      this.state.createPendingLogin({
        ...{ userId, method, authEpoch, mfaEpoch, scope, partnerId, orgId },
        invitation: invitation?.toString('hex') ?? null,
        sso,
      }),
      this.passkeys.hasAny(this.worker, userId),
    ]);
    this.metrics.countLogin(sso ? 'sso' : invitation ? 'invite' : 'password', 'mfa_required');
    return {
      session: null,
      body: {
        mfaRequired: true,
        tempToken,
        mfaMethod: method ?? 'totp',
        passkeyAvailable,
        phoneLast4: user.phoneVerified ? (user.phoneNumber?.slice(-4) ?? null) : null,
        user: null,
        tokens: null,
      },
    };
  }
}
