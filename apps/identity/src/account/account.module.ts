import { Module } from '@nestjs/common';
import { InvitationsRepositoryModule } from '../invitations/invitations-repository.module.js';
import { MailModule } from '../mail/mail.module.js';
import { MfaPolicyModule } from '../mfa/mfa-policy.module.js';
import { MfaModule } from '../mfa/mfa.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { RegistrationModule } from '../registration/registration.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { AccountController } from './account.controller.js';
import { AuthProfileController } from './auth-profile.controller.js';
import { AvatarsController } from './avatars.controller.js';
import { AvatarsService } from './avatars.service.js';
import { EmailChangeService } from './email-change.service.js';
import { ProfileService } from './profile.service.js';

/** A user's own account: profile, avatar, e-mail address. */
@Module({
  imports: [
    InvitationsRepositoryModule,
    MailModule,
    MfaModule,
    MfaPolicyModule,
    PasswordsModule,
    RegistrationModule,
    SessionsModule,
    UsersModule,
  ],
  controllers: [AccountController, AuthProfileController, AvatarsController],
  providers: [AvatarsService, EmailChangeService, ProfileService],
})
export class AccountModule {}
