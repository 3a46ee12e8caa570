import { VERIFICATION_KEYS } from '@rmm/access';
import type { Feature } from '../feature.js';
import { JwksController } from './jwks.controller.js';
import { SigningKeyRotation } from './signing-key-rotation.service.js';
import { SigningKeysRepository } from './signing-keys.repository.js';
import { SigningKeysRpc } from './signing-keys.rpc.js';
import { SigningKeys } from './signing-keys.service.js';

/** The keys behind access tokens. */
export const signingKeysFeature: Feature = {
  controllers: [JwksController, SigningKeysRpc],
  providers: [
    SigningKeyRotation,
    SigningKeys,
    SigningKeysRepository,
    { provide: VERIFICATION_KEYS, useExisting: SigningKeys },
  ],
};
