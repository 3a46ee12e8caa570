import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { MfaGrace } from './mfa-grace.js';

/** Evaluates the MFA policy and opens enrollment windows; kept apart from MfaModule because sessions depend on it. */
@Module({
  imports: [AccessChangesModule, MailModule],
  providers: [MfaGrace],
  exports: [MfaGrace],
})
export class MfaPolicyModule {}
