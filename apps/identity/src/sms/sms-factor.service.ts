import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { UnauthenticatedError } from '@rmm/service-kit';
import type { IssuedFactor } from '../mfa/mfa-enrollment.service.js';
import { MfaFactorsService } from '../mfa/mfa-factors.service.js';
import { MfaAlreadyEnabled } from '../mfa/mfa.errors.js';
import { newRecoveryCodes } from '../mfa/recovery-codes.js';
import { StepUpService } from '../mfa/step-up.service.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { PhonesRepository } from './phones.repository.js';
import { SmsCodesService } from './sms-codes.service.js';
import { PhoneNotVerified } from './sms.errors.js';

/** Makes SMS codes the active factor of a user with a verified number. @see docs/reference/mfa-and-policies.md */
@Injectable()
export class SmsFactorService {
  constructor(
    private readonly sessions: SessionsService,
    private readonly stepUp: StepUpService,
    private readonly codes: SmsCodesService,
    private readonly phones: PhonesRepository,
    private readonly factors: MfaFactorsService,
  ) {}

  /**
   * Replaces the recovery codes as well. The number may have been verified long ago, so the session has proven no factor
   * just now.
   * @throws SmsNotConfigured, MfaAlreadyEnabled, PhoneNotVerified, MfaMethodNotAllowed, ExistingFactorStepUpRequired;
   *   UnauthenticatedError when number or factors were changed since
   */
  async enable(caller: UserCaller, stepUpGrantId?: string): Promise<IssuedFactor> {
    this.codes.assertConfigured();
    const owner = await this.sessions.getUser(caller);
    const { id, name, email, mfaMethod, mfaEpoch, phoneNumber, phoneVerified } = owner.user;
    if (mfaMethod === 'sms') throw new MfaAlreadyEnabled();
    if (phoneNumber === null || !phoneVerified) throw new PhoneNotVerified();
    this.factors.assertAllowed('sms', owner.user, owner.membership);
    const grantId = await this.stepUp.checkFactorGrant(caller, owner.user, stepUpGrantId);
    await this.stepUp.consumeFactorGrant(grantId);
    const recoveryCodes = newRecoveryCodes();
    const session = await this.factors.add(caller, owner, {
      method: 'sms',
      proven: false,
      recoveryCodes,
      audit: { action: 'auth.mfa.sms.enable' },
      mail: { to: email, template: 'mfa-enabled', values: { name } },
      store: async (tx) => {
        const epochs = await this.phones.enableSms(tx, id, { phoneNumber, mfaEpoch });
        if (!epochs) throw new UnauthenticatedError();
        return epochs;
      },
    });
    return { session, recoveryCodes };
  }
}
