import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { SecurityPolicyModule } from '../security-policy/security-policy.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { MemberScopeModule } from '../members/member-scope.module.js';
import { MembersModule } from '../members/members.module.js';
import { UsersModule } from '../users/users.module.js';
import { CodeChecker } from './code-checker.js';
import { ExistingFactor } from './existing-factor.js';
import { FactorSession } from './factor-session.js';
import { FactorsRepository } from './factors.repository.js';
import { MfaDisableService } from './mfa-disable.service.js';
import { MfaLoginService } from './mfa-login.service.js';
import { MfaPolicyModule } from './mfa-policy.module.js';
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
@Module({
  imports: [
    AccessChangesModule,
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
    CodeChecker,
    ExistingFactor,
    FactorSession,
    FactorsRepository,
    MfaDisableService,
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
  exports: [PendingLogins, StepUpGrants],
})
export class MfaModule {}
