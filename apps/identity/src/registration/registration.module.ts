import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { MembersModule } from '../members/members.module.js';
import { PartnersModule } from '../partners/partners.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { AddressConfirmationService } from './address-confirmation.service.js';
import { EmailLinksRepository } from './email-links.repository.js';
import { EmailVerificationService } from './email-verification.service.js';
import { RegistrationCleanupJob } from './registration-cleanup.job.js';
import { RegistrationCompletionService } from './registration-completion.service.js';
import { RegistrationController } from './registration.controller.js';
import { RegistrationsRepository } from './registrations.repository.js';
import { RegistrationsService } from './registrations.service.js';
import { ResendVerificationService } from './resend-verification.service.js';

/** Registration of partners, and verification of e-mail addresses. */
@Module({
  imports: [
    AccessChangesModule,
    MailModule,
    MembersModule,
    PartnersModule,
    PasswordsModule,
    SessionsModule,
    UsersModule,
  ],
  controllers: [RegistrationController],
  providers: [
    AddressConfirmationService,
    EmailLinksRepository,
    EmailVerificationService,
    RegistrationCleanupJob,
    RegistrationCompletionService,
    RegistrationsRepository,
    RegistrationsService,
    ResendVerificationService,
  ],
  exports: [EmailLinksRepository],
})
export class RegistrationModule {}
