import { Module } from '@nestjs/common';
import { MailModule } from '../mail/mail.module.js';
import { MemberScopeModule } from '../members/member-scope.module.js';
import { MembersModule } from '../members/members.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { SecurityPolicyModule } from '../security-policy/security-policy.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { MfaCodeVerifier } from './mfa-code-verifier.service.js';
import { MfaDisableService } from './mfa-disable.service.js';
import { MfaFactorChanges } from './mfa-factor-changes.service.js';
import { MfaFactorsRepository } from './mfa-factors.repository.js';
import { MfaLoginService } from './mfa-login.service.js';
import { MfaPolicyModule } from './mfa-policy.module.js';
import { MfaRemindersJob } from './mfa-reminders.job.js';
import { MfaResetController } from './mfa-reset.controller.js';
import { MfaResetPolicy } from './mfa-reset.policy.js';
import { MfaResetService } from './mfa-reset.service.js';
import { MfaSetupService } from './mfa-setup.service.js';
import { MfaController } from './mfa.controller.js';
import { OneTimeStore } from './one-time-store.service.js';
import { PendingLogins } from './pending-logins.service.js';
import { StepUpController } from './step-up.controller.js';
import { StepUpPolicy } from './step-up.policy.js';
import { StepUpService } from './step-up.service.js';
import { TotpSetups } from './totp-setups.service.js';

/** Second factors: setup, second step of a login, step-up, disable, reset. */
@Module({
  imports: [
    MailModule,
    MembersModule,
    MemberScopeModule,
    MfaPolicyModule,
    PasswordsModule,
    RolesModule,
    SecurityPolicyModule,
    SessionsModule,
    UsersModule,
  ],
  controllers: [MfaController, MfaResetController, StepUpController],
  providers: [
    MfaCodeVerifier,
    MfaDisableService,
    MfaFactorChanges,
    MfaFactorsRepository,
    MfaLoginService,
    MfaRemindersJob,
    MfaResetPolicy,
    MfaResetService,
    MfaSetupService,
    OneTimeStore,
    PendingLogins,
    StepUpPolicy,
    StepUpService,
    TotpSetups,
  ],
  exports: [PendingLogins, StepUpPolicy],
})
export class MfaModule {}
