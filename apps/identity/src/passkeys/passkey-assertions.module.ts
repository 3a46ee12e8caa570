import { Module } from '@nestjs/common';
import { PasskeyAssertionsService } from './passkey-assertions.service.js';
import { PasskeyChallengesRepository } from './passkey-challenges.repository.js';
import { PasskeysRepository } from './passkeys.repository.js';
import { WebAuthnService } from './webauthn.service.js';

/** Verifies passkeys; separate from PasskeysModule because second factors depend on it. */
@Module({
  providers: [PasskeyAssertionsService, PasskeyChallengesRepository, PasskeysRepository, WebAuthnService],
  exports: [PasskeyAssertionsService, PasskeyChallengesRepository, PasskeysRepository, WebAuthnService],
})
export class PasskeyAssertionsModule {}
