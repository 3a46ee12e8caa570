import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { MailModule } from '../mail/mail.module.js';
import { MemberScopeModule } from '../members/member-scope.module.js';
import { MembersRepositoryModule } from '../members/members-repository.module.js';
import { MembersModule } from '../members/members.module.js';
import { PasskeyAssertionsModule } from '../passkeys/passkey-assertions.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { RolesModule } from '../roles/roles.module.js';
import { SecurityPolicyModule } from '../security-policy/security-policy.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { SmsCodesModule } from '../sms/sms-codes.module.js';
import { UsersModule } from '../users/users.module.js';
import { MfaCodesService } from './mfa-codes.service.js';
import { MfaEnabledMiddleware } from './mfa-enabled.middleware.js';
import { MfaEnrollmentService } from './mfa-enrollment.service.js';
import { MfaFactorsService } from './mfa-factors.service.js';
import { MfaLoginService } from './mfa-login.service.js';
import { MfaPolicyModule } from './mfa-policy.module.js';
import { MfaResetController } from './mfa-reset.controller.js';
import { MfaResetPolicy } from './mfa-reset.policy.js';
import { MfaResetService } from './mfa-reset.service.js';
import { MfaStateRepository } from './mfa-state.repository.js';
import { MfaVerificationService } from './mfa-verification.service.js';
import { MfaController } from './mfa.controller.js';
import { SendMfaRemindersJob } from './send-mfa-reminders.job.js';
import { StepUpProofsService } from './step-up-proofs.service.js';
import { StepUpController } from './step-up.controller.js';
import { StepUpService } from './step-up.service.js';

/** Second factors: setup, second step of a login, step-up, disable, reset. */
@Module({
  imports: [
    MailModule,
    MembersModule,
    MembersRepositoryModule,
    MemberScopeModule,
    MfaPolicyModule,
    PasskeyAssertionsModule,
    PasswordsModule,
    RolesModule,
    SecurityPolicyModule,
    SessionsModule,
    SmsCodesModule,
    UsersModule,
  ],
  controllers: [MfaController, MfaResetController, StepUpController],
  providers: [
    MfaCodesService,
    MfaEnrollmentService,
    MfaFactorsService,
    MfaLoginService,
    SendMfaRemindersJob,
    MfaResetPolicy,
    MfaResetService,
    MfaStateRepository,
    MfaVerificationService,
    StepUpProofsService,
    StepUpService,
  ],
  exports: [
    MfaCodesService,
    MfaFactorsService,
    MfaLoginService,
    MfaPolicyModule,
    MfaVerificationService,
    StepUpService,
  ],
})
export class MfaModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(MfaEnabledMiddleware).forRoutes(MfaController, StepUpController);
  }
}
