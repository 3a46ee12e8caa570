import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { UnauthenticatedError } from '@rmm/service-kit';
import { OwnSession } from '../sessions/own-session.js';
import { SessionOpener } from '../sessions/session-opener.js';
import { CodeChecker } from './code-checker.js';
import { FactorSession } from './factor-session.js';
import { FactorsRepository } from './factors.repository.js';
import { MfaNotEnabled } from './mfa.errors.js';
import type { ConfirmedSetup } from './mfa-setup.service.js';
import { newRecoveryCodes } from './recovery-codes.js';

/** Replacing the codes for a lost factor. @see SPEC.md 5.6 */
@Injectable()
export class RecoveryCodesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly session: OwnSession,
    private readonly factors: FactorsRepository,
    private readonly codes: CodeChecker,
    private readonly factorSession: FactorSession,
    private readonly opener: SessionOpener,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * All old codes die at once, with every session; the caller's is issued anew. Of two calls at once one is answered.
   * @throws MfaNotEnabled; UnauthenticatedError when the factors were changed meanwhile
   */
  async replace(caller: UserCaller): Promise<ConfirmedSetup> {
    const { user, membership } = await this.session.userOf(caller);
    if (!user.mfaEnabled) throw new MfaNotEnabled();
    const recoveryCodes = newRecoveryCodes();
    const hashes = recoveryCodes.map((code) => this.codes.hashRecoveryCode(user.id, code));
    const opened = await this.tenants.transaction(caller, async (tx) => {
      const epochs = await this.factors.moveEpoch(tx, user.id, user.mfaEpoch);
      if (!epochs) throw new UnauthenticatedError();
      await this.factors.replaceRecoveryCodes(tx, user.id, hashes);
      const self = { type: 'user', id: user.id, name: user.name };
      await this.audit.record(tx, caller, 'auth.mfa.recovery_codes.rotate', self, { count: hashes.length });
      return this.factorSession.reissue(tx, caller, { ...user, ...epochs }, membership);
    });
    return { session: await this.opener.issue(opened), recoveryCodes };
  }
}
