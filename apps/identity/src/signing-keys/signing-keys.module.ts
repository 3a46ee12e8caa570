import { Module } from '@nestjs/common';
import { VERIFICATION_KEYS } from '@rmm/access';
import { JwksController } from './jwks.controller.js';
import { SigningKeyRotation } from './signing-key-rotation.service.js';
import { SigningKeysRepository } from './signing-keys.repository.js';
import { SigningKeysRpc } from './signing-keys.rpc.js';
import { SigningKeys } from './signing-keys.service.js';

/** The keys that sign access tokens. */
@Module({
  controllers: [JwksController, SigningKeysRpc],
  providers: [
    SigningKeyRotation,
    SigningKeys,
    SigningKeysRepository,
    { provide: VERIFICATION_KEYS, useExisting: SigningKeys },
  ],
  exports: [SigningKeys],
})
export class SigningKeysModule {}
