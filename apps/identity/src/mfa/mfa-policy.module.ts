import { Module } from '@nestjs/common';
import { AccessChangesModule } from '../access/access-changes.module.js';
import { MailModule } from '../mail/mail.module.js';
import { MfaEnrollmentRepository } from './mfa-enrollment.repository.js';
import { MfaGrace } from './mfa-grace.service.js';

/** Evaluates the MFA policy and opens enrollment windows; separate from MfaModule because sessions depend on it. */
@Module({
  imports: [AccessChangesModule, MailModule],
  providers: [MfaEnrollmentRepository, MfaGrace],
  exports: [MfaEnrollmentRepository, MfaGrace],
})
export class MfaPolicyModule {}
