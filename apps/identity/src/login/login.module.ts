import { Module } from '@nestjs/common';
import { MfaModule } from '../mfa/mfa.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { LoginController } from './login.controller.js';
import { LoginService } from './login.service.js';

/** Login with a password. */
@Module({
  imports: [MfaModule, PasswordsModule, SessionsModule, UsersModule],
  controllers: [LoginController],
  providers: [LoginService],
})
export class LoginModule {}
