import type { Feature } from '../feature.js';
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
import { SessionUpkeep } from './session-upkeep.js';
import { SessionsController } from './sessions.controller.js';
import { SessionsRepository } from './sessions.repository.js';
import { SwitchService } from './switch.service.js';

/** Refresh families and the tokens they hand out. */
export const sessionsFeature: Feature = {
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
    SessionUpkeep,
    SwitchService,
  ],
};
