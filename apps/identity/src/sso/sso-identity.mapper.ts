import type { SsoIdentityDto } from './dto/sso-login.dto.js';
import type { ListedIdentity } from './sso-identities.repository.js';

export const toIdentityDto = ({ createdAt, lastLoginAt, ...row }: ListedIdentity): SsoIdentityDto => ({
  ...row,
  ownerScope: row.orgId === null ? 'partner' : 'organization',
  createdAt: createdAt.toISOString(),
  lastLoginAt: lastLoginAt?.toISOString() ?? null,
});
