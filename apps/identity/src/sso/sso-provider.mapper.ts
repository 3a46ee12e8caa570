import type { SsoProviderDto, SsoProviderListItemDto } from './dto/sso-provider.dto.js';
import type { SsoProvider } from './sso-provider.entity.js';

export const toSsoProviderListItem = (row: SsoProvider): SsoProviderListItemDto => ({
  id: row.id,
  name: row.name,
  type: row.type,
  ownerScope: row.orgId === null ? 'partner' : 'organization',
  orgId: row.orgId,
  status: row.status,
  issuer: row.issuer,
  autoProvision: row.autoProvision,
  enforceSSO: row.enforceSso,
  trustsIdpMfa: row.trustsIdpMfa,
  createdAt: row.createdAt.toISOString(),
});

/** Never contains the client secret. */
export const toSsoProviderDto = (row: SsoProvider): SsoProviderDto => ({
  ...toSsoProviderListItem(row),
  preset: row.preset,
  clientId: row.clientId,
  hasClientSecret: row.clientSecretSealed !== null,
  scopes: row.scopes,
  attributeMapping: row.attributeMapping,
  defaultRoleId: row.defaultRoleId,
  defaultRoleConfiguredBy: row.defaultRoleConfiguredBy,
  allowedDomains: row.allowedDomains.join(','),
  authorizationUrl: row.metadata?.authorizationEndpoint ?? null,
  tokenUrl: row.metadata?.tokenEndpoint ?? null,
  userInfoUrl: row.metadata?.userInfoEndpoint ?? null,
  jwksUrl: row.metadata?.jwksUri ?? null,
  configVersion: row.configVersion,
  entityId: null,
  ssoUrl: null,
  certificate: null,
  updatedAt: row.updatedAt.toISOString(),
});
