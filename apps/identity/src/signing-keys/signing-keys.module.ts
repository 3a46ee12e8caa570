import { Module } from '@nestjs/common';
import { VERIFICATION_KEYS } from '@rmm/access';
import { JwksController } from './jwks.controller.js';
import { SigningKeysRepository } from './signing-keys.repository.js';
import { SigningKeysRpc } from './signing-keys.rpc.js';
import { SigningKeysService } from './signing-keys.service.js';

/** The keys that sign access tokens. */
@Module({
  controllers: [JwksController, SigningKeysRpc],
  providers: [
    SigningKeysService,
    SigningKeysRepository,
    { provide: VERIFICATION_KEYS, useExisting: SigningKeysService },
  ],
  exports: [SigningKeysService],
})
export class SigningKeysModule {}
