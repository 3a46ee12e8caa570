import type { Feature } from '../feature.js';
import { CodeChecker } from './code-checker.js';
import { ExistingFactor } from './existing-factor.js';
import { FactorSession } from './factor-session.js';
import { FactorsRepository } from './factors.repository.js';
import { MfaDisableService } from './mfa-disable.service.js';
import { MfaGrace } from './mfa-grace.js';
import { MfaLoginService } from './mfa-login.service.js';
import { MfaReminders } from './mfa-reminders.js';
import { MfaResetController } from './mfa-reset.controller.js';
import { MfaResetService } from './mfa-reset.service.js';
import { MfaSetupService } from './mfa-setup.service.js';
import { MfaController } from './mfa.controller.js';
import { PendingLogins } from './pending-logins.js';
import { RecoveryCodesService } from './recovery-codes.service.js';
import { RedisOnce } from './redis-once.js';
import { ResetTargets } from './reset-targets.js';
import { StepUpGrants } from './step-up-grants.js';
import { StepUpController } from './step-up.controller.js';
import { StepUpService } from './step-up.service.js';
import { TotpSetups } from './totp-setups.js';

/** Second factors. */
export const mfaFeature: Feature = {
  controllers: [MfaController, MfaResetController, StepUpController],
  providers: [
    CodeChecker,
    ExistingFactor,
    FactorSession,
    FactorsRepository,
    MfaDisableService,
    MfaGrace,
    MfaLoginService,
    MfaReminders,
    MfaResetService,
    MfaSetupService,
    PendingLogins,
    RecoveryCodesService,
    RedisOnce,
    ResetTargets,
    StepUpGrants,
    StepUpService,
    TotpSetups,
  ],
};
