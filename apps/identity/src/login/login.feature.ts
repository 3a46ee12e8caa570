import type { Feature } from '../feature.js';
import { AccountLockout } from './account-lockout.js';
import { CurrentPassword } from './current-password.js';
import { LoginController } from './login.controller.js';
import { LoginService } from './login.service.js';
import { PasswordService } from './password.service.js';
import { SessionStarter } from './session-starter.js';

/** Signing in with a password. */
export const loginFeature: Feature = {
  controllers: [LoginController],
  providers: [AccountLockout, CurrentPassword, LoginService, PasswordService, SessionStarter],
};
