import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { MfaPolicyModule } from '../mfa/mfa-policy.module.js';
import { SigningKeysModule } from '../signing-keys/signing-keys.module.js';
import { UsersModule } from '../users/users.module.js';
import { AccessTokens } from './access-tokens.service.js';
import { AuthController } from './auth.controller.js';
import { CurrentSession } from './current-session.service.js';
import { KnownDevicesRepository } from './known-devices.repository.js';
import { KnownDevices } from './known-devices.service.js';
import { LoginSessions } from './login-sessions.service.js';
import { PurgeEndedSessionsJob } from './purge-ended-sessions.job.js';
import { SessionCookies } from './session-cookies.service.js';
import { SessionRevocations } from './session-revocations.service.js';
import { SessionsController } from './sessions.controller.js';
import { SessionsRepository } from './sessions.repository.js';
import { SessionsService } from './sessions.service.js';

/** Sessions: start, refresh, switch of membership, list, revocation. */
@Module({
  imports: [AccessChangesModule, MailModule, MfaPolicyModule, SigningKeysModule, UsersModule],
  controllers: [AuthController, SessionsController],
  providers: [
    AccessTokens,
    CurrentSession,
    KnownDevices,
    KnownDevicesRepository,
    LoginSessions,
    PurgeEndedSessionsJob,
    SessionCookies,
    SessionRevocations,
    SessionsRepository,
    SessionsService,
  ],
  exports: [CurrentSession, LoginSessions, SessionCookies, SessionRevocations, SessionsService],
})
export class SessionsModule {}
