import { API_KEY_FIELDS, type ApiKeyField } from '@rmm/contracts';
import { hasMoreAddresses } from '../key-limits/source-addresses.policy.js';
import type { ApiKey } from './api-key.entity.js';
import type { UpdateApiKeyDto } from './dto/update-api-key.dto.js';

type Bounds = Pick<ApiKey, 'scopes' | 'expiresAt' | 'sourceCidrs' | 'rateLimit'>;

/** Returns the scopes that a change adds to a key. */
export function addedScopes(before: Pick<ApiKey, 'scopes'>, { scopes = [] }: UpdateApiKeyDto): string[] {
  return scopes.filter((scope) => !before.scopes.includes(scope));
}

/**
 * Returns the scopes a change grants, which the caller must be able to grant: the added ones, and all of them when the
 * key works for longer, from more addresses or more often than before. Otherwise a caller could extend a key that they
 * may not create.
 */
export function grantedScopes(before: Bounds, dto: UpdateApiKeyDto): string[] {
  const isExtended =
    isLater(before, dto) || isFromMoreAddresses(before, dto) || (dto.rateLimit ?? 0) > before.rateLimit;
  return isExtended ? (dto.scopes ?? before.scopes) : addedScopes(before, dto);
}

/** Returns the names of the fields that a request sets. */
export function changedFields(dto: UpdateApiKeyDto): ApiKeyField[] {
  return API_KEY_FIELDS.filter((field) => field !== 'principalId' && dto[field] !== undefined);
}

function isLater(before: Bounds, { expiresAt }: UpdateApiKeyDto): boolean {
  if (expiresAt === undefined || before.expiresAt === null) return false;
  return expiresAt === null || expiresAt > before.expiresAt;
}

function isFromMoreAddresses({ sourceCidrs }: Bounds, { sourceCidrs: next }: UpdateApiKeyDto): boolean {
  return next !== undefined && hasMoreAddresses(sourceCidrs, next);
}
