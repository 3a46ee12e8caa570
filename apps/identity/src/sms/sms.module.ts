import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { MfaEnabledMiddleware } from '../mfa/mfa-enabled.middleware.js';
import { MfaModule } from '../mfa/mfa.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { PhoneController } from './phone.controller.js';
import { PhoneService } from './phone.service.js';
import { PhonesRepository } from './phones.repository.js';
import { SmsCodesModule } from './sms-codes.module.js';
import { SmsFactorController } from './sms-factor.controller.js';
import { SmsFactorService } from './sms-factor.service.js';

/** Phone numbers, and codes by SMS as a factor. */
@Module({
  imports: [MfaModule, SessionsModule, SmsCodesModule],
  controllers: [PhoneController, SmsFactorController],
  providers: [PhoneService, PhonesRepository, SmsFactorService],
})
export class SmsModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(MfaEnabledMiddleware).forRoutes(PhoneController, SmsFactorController);
  }
}
