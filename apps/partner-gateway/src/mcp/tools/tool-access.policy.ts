import { type ApiKeyCaller, isSiteRestricted } from '@rmm/access';
import { type ApiKeyScope, scopesAllow } from '@rmm/permissions';
import type { Tool, ToolTier } from './tool.js';

/** Scopes of which a key needs one of each group. */
type RequiredScopes = readonly (readonly ApiKeyScope[])[];

const REQUIRED: Record<ToolTier, RequiredScopes> = {
  1: [['ai:read']],
  2: [['ai:read'], ['ai:write', 'ai:execute']],
  3: [['ai:read'], ['ai:execute']],
};
const REQUIRED_IN_PRODUCTION: Record<ToolTier, RequiredScopes> = {
  ...REQUIRED,
  3: [...REQUIRED[3], ['ai:execute_admin']],
};

/** Returns the first group of scopes of which the key has none; null when it may call tools of the tier. */
export function missingScopes(
  { scopes }: Pick<ApiKeyCaller, 'scopes'>,
  tier: ToolTier,
  isProduction: boolean,
): readonly ApiKeyScope[] | null {
  const required = isProduction ? REQUIRED_IN_PRODUCTION[tier] : REQUIRED[tier];
  return required.find((anyOf) => !scopesAllow(scopes, anyOf)) ?? null;
}

/** Returns false for a tool that does not exist for the key, whatever its scopes: it shows more than the key may see. */
export function isKnownTo(caller: ApiKeyCaller, { isOrganizationWide }: Pick<Tool, 'isOrganizationWide'>): boolean {
  return !isOrganizationWide || !isSiteRestricted(caller);
}
