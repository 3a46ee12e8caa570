import { Module } from '@nestjs/common';
import { SmsCodesRepository } from './sms-codes.repository.js';
import { SmsCodesService } from './sms-codes.service.js';
import { SmsProvider } from './sms-provider.service.js';

/** Sends and verifies codes; separate from SmsModule because second factors depend on it. */
@Module({
  providers: [SmsCodesRepository, SmsCodesService, SmsProvider],
  exports: [SmsCodesService],
})
export class SmsCodesModule {}
