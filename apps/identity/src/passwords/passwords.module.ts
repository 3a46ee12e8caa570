import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { MailModule } from '../mail/mail.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { AccountLockout } from './account-lockout.js';
import { CurrentPassword } from './current-password.js';
import { ForgotPasswordQueue, ForgotPasswordQueueModule } from './forgot-password-queue.js';
import { ForgotPasswordProcessor } from './forgot-password.processor.js';
import { ForgottenPasswords } from './forgotten-passwords.service.js';
import { PasswordHasher } from './password-hasher.js';
import { PasswordResetService } from './password-reset.service.js';
import { PasswordsController } from './passwords.controller.js';
import { ResetLinks } from './reset-links.js';
import { ResetLinksRepository } from './reset-links.repository.js';

/** Password hashing, proof of the current password, and forgotten passwords. */
@Module({
  imports: [AccessChangesModule, ForgotPasswordQueueModule, MailModule, SessionsModule, UsersModule],
  controllers: [PasswordsController],
  providers: [
    AccountLockout,
    CurrentPassword,
    ForgotPasswordProcessor,
    ForgotPasswordQueue,
    ForgottenPasswords,
    PasswordResetService,
    ResetLinks,
    ResetLinksRepository,
    {
      provide: PasswordHasher,
      inject: [IDENTITY_CONFIG],
      useFactory: (config: IdentityConfig) => PasswordHasher.fromConfig(config),
    },
  ],
  exports: [AccountLockout, CurrentPassword, PasswordHasher, ResetLinks],
})
export class PasswordsModule {}
