import type { PartnerPrincipalKey } from '../partner-principal-key.entity.js';
import type { PartnerPrincipal } from '../partner-principal.entity.js';

export interface PartnerKeyDto {
  id: string;
  partnerServicePrincipalId: string;
  name: string;
  keyPrefix: string;
  status: 'active' | 'revoked';
  expiresAt: string | null;
  rateLimit: number;
  lastUsedAt: string | null;
  revokedAt: string | null;
  rotatedFromId: string | null;
  createdAt: string;
}

export interface PartnerPrincipalDto {
  id: string;
  partnerId: string;
  name: string;
  description: string | null;
  status: 'active' | 'disabled';
  scopes: string[];
  expiresAt: string | null;
  sourceCidrs: string[];
  createdAt: string;
  updatedAt: string;
  keys: PartnerKeyDto[];
}

export interface CreatedPartnerKeyDto {
  keyId: string;
  /** `svc_sp_` and 43 characters; shown this once. */
  key: string;
  keyPrefix: string;
}

const toPartnerKeyDto = (row: PartnerPrincipalKey): PartnerKeyDto => ({
  id: row.id,
  partnerServicePrincipalId: row.principalId,
  name: row.name,
  keyPrefix: row.keyPrefix,
  status: row.status,
  expiresAt: row.expiresAt?.toISOString() ?? null,
  rateLimit: row.rateLimit,
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  revokedAt: row.revokedAt?.toISOString() ?? null,
  rotatedFromId: row.rotatedFromId,
  createdAt: row.createdAt.toISOString(),
});

export const toPartnerPrincipalDto = (
  row: PartnerPrincipal,
  keys: readonly PartnerPrincipalKey[],
): PartnerPrincipalDto => ({
  id: row.id,
  partnerId: row.partnerId,
  name: row.name,
  description: row.description,
  status: row.status,
  scopes: row.scopes,
  expiresAt: row.expiresAt?.toISOString() ?? null,
  sourceCidrs: row.sourceCidrs,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  keys: keys.filter((key) => key.principalId === row.id).map(toPartnerKeyDto),
});
