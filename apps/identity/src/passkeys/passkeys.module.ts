import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { MfaEnabledMiddleware } from '../mfa/mfa-enabled.middleware.js';
import { MfaModule } from '../mfa/mfa.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { PasskeyAssertionsModule } from './passkey-assertions.module.js';
import { PasskeyAttestationsService } from './passkey-attestations.service.js';
import { PasskeyFactorsService } from './passkey-factors.service.js';
import { PasskeyLoginController } from './passkey-login.controller.js';
import { PasskeyLoginService } from './passkey-login.service.js';
import { PasskeyMfaController } from './passkey-mfa.controller.js';
import { PasskeyMfaService } from './passkey-mfa.service.js';
import { PasskeyRegistrationService } from './passkey-registration.service.js';
import { PasskeyRemovalService } from './passkey-removal.service.js';
import { PasskeysController } from './passkeys.controller.js';
import { PasskeysService } from './passkeys.service.js';

/** Passkeys: register, list, rename, delete; as the second step of a login, and to sign in with alone. */
@Module({
  imports: [MfaModule, PasskeyAssertionsModule, PasswordsModule, SessionsModule, UsersModule],
  controllers: [PasskeyLoginController, PasskeyMfaController, PasskeysController],
  providers: [
    PasskeyAttestationsService,
    PasskeyFactorsService,
    PasskeyLoginService,
    PasskeyMfaService,
    PasskeyRegistrationService,
    PasskeyRemovalService,
    PasskeysService,
  ],
})
export class PasskeysModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(MfaEnabledMiddleware).forRoutes(PasskeyLoginController, PasskeyMfaController, PasskeysController);
  }
}
