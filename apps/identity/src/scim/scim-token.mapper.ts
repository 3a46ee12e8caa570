import type { ScimTokenDto } from './dto/scim-settings.dto.js';
import type { ScimTokenRow } from './scim-token.entity.js';

export const toTokenDto = ({
  id,
  name,
  tokenPrefix,
  createdBy,
  expiresAt,
  lastUsedAt,
  createdAt,
}: ScimTokenRow): ScimTokenDto => ({
  ...{ id, name, tokenPrefix, createdBy },
  expiresAt: expiresAt?.toISOString() ?? null,
  lastUsedAt: lastUsedAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
});
