import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { MfaPolicyModule } from '../mfa/mfa-policy.module.js';
import { SigningKeysModule } from '../signing-keys/signing-keys.module.js';
import { UsersModule } from '../users/users.module.js';
import { AccessTokens } from './access-tokens.js';
import { KnownDevices } from './known-devices.js';
import { LogoutService } from './logout.service.js';
import { OwnSession } from './own-session.js';
import { RefreshService } from './refresh.service.js';
import { SessionCookies } from './session-cookies.js';
import { SessionEnder } from './session-ender.js';
import { SessionListController } from './session-list.controller.js';
import { SessionListRepository } from './session-list.repository.js';
import { SessionListService } from './session-list.service.js';
import { SessionOpener } from './session-opener.js';
import { SessionStarter } from './session-starter.js';
import { SessionUpkeep } from './session-upkeep.js';
import { SessionsController } from './sessions.controller.js';
import { SessionsRepository } from './sessions.repository.js';
import { SwitchService } from './switch.service.js';

/** Sessions: start, refresh, switch of membership, list, revocation. */
@Module({
  imports: [AccessChangesModule, MailModule, MfaPolicyModule, SigningKeysModule, UsersModule],
  controllers: [SessionListController, SessionsController],
  providers: [
    AccessTokens,
    KnownDevices,
    LogoutService,
    OwnSession,
    RefreshService,
    SessionCookies,
    SessionEnder,
    SessionListRepository,
    SessionListService,
    SessionOpener,
    SessionsRepository,
    SessionStarter,
    SessionUpkeep,
    SwitchService,
  ],
  exports: [OwnSession, SessionCookies, SessionEnder, SessionOpener, SessionsRepository, SessionStarter],
})
export class SessionsModule {}
