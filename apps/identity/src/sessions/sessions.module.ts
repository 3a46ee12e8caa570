import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { MfaPolicyModule } from '../mfa/mfa-policy.module.js';
import { SigningKeysModule } from '../signing-keys/signing-keys.module.js';
import { UsersModule } from '../users/users.module.js';
import { AuthController } from './auth.controller.js';
import { LoginAuditService } from './login-audit.service.js';
import { LoginSessionsService } from './login-sessions.service.js';
import { LoginMetrics } from './login.metrics.js';
import { PurgeEndedSessionsJob } from './purge-ended-sessions.job.js';
import { RefusedAttemptsService } from './refused-attempts.service.js';
import { SessionCookies } from './session-cookies.service.js';
import { SessionRevocationsService } from './session-revocations.service.js';
import { SessionsController } from './sessions.controller.js';
import { SessionsRepository } from './sessions.repository.js';
import { SessionsService } from './sessions.service.js';

/** Sessions: start, refresh, switch of membership, list, revocation, known devices. */
@Module({
  imports: [AccessChangesModule, MailModule, MfaPolicyModule, SigningKeysModule, UsersModule],
  controllers: [AuthController, SessionsController],
  providers: [
    LoginAuditService,
    LoginMetrics,
    LoginSessionsService,
    PurgeEndedSessionsJob,
    RefusedAttemptsService,
    SessionCookies,
    SessionRevocationsService,
    SessionsRepository,
    SessionsService,
  ],
  exports: [
    LoginAuditService,
    LoginMetrics,
    LoginSessionsService,
    RefusedAttemptsService,
    SessionCookies,
    SessionRevocationsService,
    SessionsService,
  ],
})
export class SessionsModule {}
