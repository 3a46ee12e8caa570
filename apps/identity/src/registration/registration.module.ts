import { type MiddlewareConsumer, Module, type NestModule, RequestMethod } from '@nestjs/common';
import { MailModule } from '../mail/mail.module.js';
import { MembersRepositoryModule } from '../members/members-repository.module.js';
import { PartnersModule } from '../partners/partners.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { DeleteExpiredRegistrationsJob } from './delete-expired-registrations.job.js';
import { EmailVerificationService } from './email-verification.service.js';
import { RegistrationCompletionService } from './registration-completion.service.js';
import { RegistrationEnabledMiddleware } from './registration-enabled.middleware.js';
import { RegistrationController } from './registration.controller.js';
import { RegistrationsRepository } from './registrations.repository.js';
import { RegistrationsService } from './registrations.service.js';

/** Registration of partners, and verification of e-mail addresses. */
@Module({
  imports: [MailModule, MembersRepositoryModule, PartnersModule, PasswordsModule, SessionsModule, UsersModule],
  controllers: [RegistrationController],
  providers: [
    EmailVerificationService,
    DeleteExpiredRegistrationsJob,
    RegistrationCompletionService,
    RegistrationsRepository,
    RegistrationsService,
  ],
  exports: [EmailVerificationService, RegistrationsRepository, RegistrationsService],
})
export class RegistrationModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    const route = { path: 'auth/register-partner', method: RequestMethod.POST };
    consumer.apply(RegistrationEnabledMiddleware).forRoutes(route);
  }
}
