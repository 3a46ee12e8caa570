import { Module } from '@nestjs/common';
import { InvitationsModule } from '../invitations/invitations.module.js';
import { MfaModule } from '../mfa/mfa.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { RegistrationModule } from '../registration/registration.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { AccountAssetsService } from './account-assets.service.js';
import { AccountFormsService } from './account-forms.service.js';
import { AccountPagesController } from './account-pages.controller.js';
import { AccountPagesService } from './account-pages.service.js';

/** The web pages at `/account`, which mail links open. @see docs/decisions/0022-account-pages.md */
@Module({
  imports: [InvitationsModule, MfaModule, PasswordsModule, RegistrationModule, SessionsModule],
  controllers: [AccountPagesController],
  providers: [AccountAssetsService, AccountFormsService, AccountPagesService],
})
export class AccountPagesModule {}
