import type { Feature } from '../feature.js';
import { AccessTokens } from './access-tokens.js';
import { LogoutService } from './logout.service.js';
import { OwnSession } from './own-session.js';
import { RefreshService } from './refresh.service.js';
import { SessionCookies } from './session-cookies.js';
import { SessionEnder } from './session-ender.js';
import { SessionOpener } from './session-opener.js';
import { SessionUpkeep } from './session-upkeep.js';
import { SessionsController } from './sessions.controller.js';
import { SessionsRepository } from './sessions.repository.js';
import { SwitchService } from './switch.service.js';

/** Refresh families and the tokens they hand out. */
export const sessionsFeature: Feature = {
  controllers: [SessionsController],
  providers: [
    AccessTokens,
    LogoutService,
    OwnSession,
    RefreshService,
    SessionCookies,
    SessionEnder,
    SessionOpener,
    SessionsRepository,
    SessionUpkeep,
    SwitchService,
  ],
};
