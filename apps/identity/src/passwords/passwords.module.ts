import { Module } from '@nestjs/common';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailModule } from '../mail/mail.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { AccountLockout } from './account-lockout.service.js';
import { CurrentPassword } from './current-password.service.js';
import { ForgotPasswordQueueModule } from './forgot-password-queue.module.js';
import { ForgotPasswordQueue } from './forgot-password-queue.service.js';
import { ForgotPasswordProcessor } from './forgot-password.processor.js';
import { ForgottenPasswordsService } from './forgotten-passwords.service.js';
import { PasswordChangeService } from './password-change.service.js';
import { PasswordHasher } from './password-hasher.service.js';
import { PasswordReplacement } from './password-replacement.service.js';
import { PasswordResetService } from './password-reset.service.js';
import { PasswordsController } from './passwords.controller.js';
import { PasswordsRepository } from './passwords.repository.js';
import { ResetLinksRepository } from './reset-links.repository.js';
import { ResetLinks } from './reset-links.service.js';

/** Password hashing, proof and change of the current password, and forgotten passwords. */
@Module({
  imports: [ForgotPasswordQueueModule, MailModule, SessionsModule, UsersModule],
  controllers: [PasswordsController],
  providers: [
    AccountLockout,
    CurrentPassword,
    ForgotPasswordProcessor,
    ForgotPasswordQueue,
    ForgottenPasswordsService,
    PasswordChangeService,
    PasswordReplacement,
    PasswordResetService,
    PasswordsRepository,
    ResetLinks,
    ResetLinksRepository,
    {
      provide: PasswordHasher,
      inject: [IDENTITY_CONFIG],
      useFactory: (config: IdentityConfig) => PasswordHasher.fromConfig(config),
    },
  ],
  exports: [AccountLockout, CurrentPassword, PasswordHasher, PasswordsRepository, ResetLinks],
})
export class PasswordsModule {}
