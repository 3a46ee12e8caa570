import type { Feature } from '../feature.js';
import { CodeChecker } from './code-checker.js';
import { FactorsRepository } from './factors.repository.js';
import { MfaGrace } from './mfa-grace.js';
import { MfaLoginService } from './mfa-login.service.js';
import { MfaSetupService } from './mfa-setup.service.js';
import { MfaController } from './mfa.controller.js';
import { PendingLogins } from './pending-logins.js';
import { RedisOnce } from './redis-once.js';
import { StepUpGrants } from './step-up-grants.js';
import { TotpSetups } from './totp-setups.js';

/** Second factors. */
export const mfaFeature: Feature = {
  controllers: [MfaController],
  providers: [
    CodeChecker,
    FactorsRepository,
    MfaGrace,
    MfaLoginService,
    MfaSetupService,
    PendingLogins,
    RedisOnce,
    StepUpGrants,
    TotpSetups,
  ],
};
