import { Module } from '@nestjs/common';
import { MailModule } from '../mail/mail.module.js';
import { MfaModule } from '../mfa/mfa.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { LoginController } from './login.controller.js';
import { LoginService } from './login.service.js';
import { PasswordVerification } from './password-verification.service.js';

/** Login with a password. */
@Module({
  imports: [MailModule, MfaModule, PasswordsModule, SessionsModule, UsersModule],
  controllers: [LoginController],
  providers: [LoginService, PasswordVerification],
})
export class LoginModule {}
