import { resourceOf } from '@rmm/messaging';
import { STORE_KEY_WARNING } from '../api-keys/dto/api-key.dto.js';
import type { PrincipalKeyDto, ServicePrincipalDto } from './dto/service-principal.dto.js';
import type { ServicePrincipal } from './service-principal.entity.js';

export function toServicePrincipalDto(row: ServicePrincipal): ServicePrincipalDto {
  return {
    id: row.id,
    orgId: row.orgId,
    name: row.name,
    scopes: row.scopes,
    status: row.status,
    createdBy: row.createdBy,
    lastUpdatedBy: row.lastUpdatedBy,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export function toPrincipalKeyDto(record: { id: string; keyPrefix: string }, key: string): PrincipalKeyDto {
  return { apiKeyId: record.id, key, keyPrefix: record.keyPrefix, warning: STORE_KEY_WARNING };
}

/** Returns the resource of an audit entry. */
export const servicePrincipalResource = (row: ServicePrincipal) => resourceOf('service_principal', row);
