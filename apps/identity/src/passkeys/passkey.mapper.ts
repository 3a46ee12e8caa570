import type { PasskeyDto } from './dto/passkey.dto.js';
import type { Passkey } from './passkey.entity.js';

export const toPasskeyDto = (passkey: Passkey): PasskeyDto => ({
  id: passkey.id,
  name: passkey.name,
  deviceType: passkey.deviceType,
  backedUp: passkey.backedUp,
  transports: passkey.transports,
  lastUsedAt: passkey.lastUsedAt?.toISOString() ?? null,
  createdAt: passkey.createdAt.toISOString(),
});
