import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { MfaModule } from '../mfa/mfa.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { LoginController } from './login.controller.js';
import { LoginService } from './login.service.js';
import { PasswordService } from './password.service.js';

/** Login with a password, and change of the password. */
@Module({
  imports: [AccessChangesModule, MailModule, MfaModule, PasswordsModule, SessionsModule, UsersModule],
  controllers: [LoginController],
  providers: [LoginService, PasswordService],
})
export class LoginModule {}
