import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { PartnersModule } from '../partners/partners.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { AddressConfirmationService } from './address-confirmation.service.js';
import { AddressLinksRepository } from './address-links.repository.js';
import { RegistrationCleanup } from './registration-cleanup.job.js';
import { RegistrationController } from './registration.controller.js';
import { RegistrationsRepository } from './registrations.repository.js';
import { ResendVerificationService } from './resend-verification.service.js';
import { SignUpService } from './sign-up.service.js';
import { VerificationService } from './verification.service.js';

/** Registration and verification of e-mail addresses. */
@Module({
  imports: [AccessChangesModule, MailModule, PartnersModule, PasswordsModule, SessionsModule, UsersModule],
  controllers: [RegistrationController],
  providers: [
    AddressConfirmationService,
    AddressLinksRepository,
    RegistrationCleanup,
    RegistrationsRepository,
    ResendVerificationService,
    SignUpService,
    VerificationService,
  ],
  exports: [AddressLinksRepository],
})
export class RegistrationModule {}
