import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { MetricsRegistry, RedisConnections } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { InvitationsRepositoryModule } from '../invitations/invitations-repository.module.js';
import { MailModule } from '../mail/mail.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { SsoReauthGrantsModule } from '../sso/sso-reauth-grants.module.js';
import { UsersModule } from '../users/users.module.js';
import { AccountProofsService } from './account-proofs.service.js';
import { ForgotPasswordProcessor } from './forgot-password.processor.js';
import { PasswordHasher } from './password-hasher.service.js';
import { PasswordVerificationService } from './password-verification.service.js';
import { PasswordsController } from './passwords.controller.js';
import { PasswordsRepository } from './passwords.repository.js';
import { PasswordsService } from './passwords.service.js';
import { FORGOT_PASSWORD_QUEUE, ResetLinksService } from './reset-links.service.js';

/** Password hashing, verification, lockout, change, and forgotten passwords. */
@Module({
  imports: [
    BullModule.registerQueueAsync({
      name: FORGOT_PASSWORD_QUEUE,
      inject: [RedisConnections],
      useFactory: (redis: RedisConnections) => ({
        connection: redis.duplicate(),
        prefix: `{rmm:${FORGOT_PASSWORD_QUEUE}}`,
        skipVersionCheck: true,
      }),
    }),
    InvitationsRepositoryModule,
    MailModule,
    SessionsModule,
    SsoReauthGrantsModule,
    UsersModule,
  ],
  controllers: [PasswordsController],
  providers: [
    AccountProofsService,
    ForgotPasswordProcessor,
    PasswordsRepository,
    PasswordsService,
    PasswordVerificationService,
    ResetLinksService,
    {
      provide: PasswordHasher,
      inject: [IDENTITY_CONFIG, MetricsRegistry],
      useFactory: (config: IdentityConfig, metrics: MetricsRegistry) => PasswordHasher.fromConfig(config, metrics),
    },
  ],
  exports: [AccountProofsService, PasswordHasher, PasswordsService, PasswordVerificationService, ResetLinksService],
})
export class PasswordsModule {}
