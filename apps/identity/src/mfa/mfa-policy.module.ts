import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { MfaGraceService } from './mfa-grace.service.js';
import { MfaRepository } from './mfa.repository.js';

/** Evaluates the MFA policy and opens enrollment windows; separate from MfaModule because sessions depend on it. */
@Module({
  imports: [AccessChangesModule, MailModule],
  providers: [MfaGraceService, MfaRepository],
  exports: [MfaGraceService, MfaRepository],
})
export class MfaPolicyModule {}
