import type { AccessScope } from '@rmm/contracts';
import { isUuid } from '@rmm/validation';

/** The claims of a verified access token. Times are Unix seconds. */
export interface AccessTokenClaims {
  sub: string;
  email: string;
  type: 'access';
  scope: AccessScope;
  partnerId: string | null;
  orgId: string | null;
  roleId: string | null;
  mfa: boolean;
  aep: number;
  mep: number;
  sid: string;
  iat: number;
  exp: number;
}

/** Seconds that a token is accepted after its expiry or before its issue, because clocks differ. */
export const CLOCK_TOLERANCE_SECONDS = 30;

/** Longer tokens are rejected without parsing. */
const MAX_TOKEN_CHARACTERS = 8_192;

/** Tokens live for an hour at most; a longer one is not of identity. */
const MAX_LIFETIME_SECONDS = 86_400;

const SCOPES: readonly unknown[] = ['system', 'partner', 'organization'];

/** Reads the payload of a token with a valid signature; null when a claim is missing or malformed. */
export function readClaims(payload: Record<string, unknown>): AccessTokenClaims | null {
  const { sub, email, type, scope, partnerId, orgId, roleId, mfa, aep, mep, sid, iat, exp } = payload;
  if (type !== 'access' || !isUuid(sub) || !isUuid(sid) || !SCOPES.includes(scope)) return null;
  if (!isInteger(aep) || !isInteger(mep) || !isInteger(iat) || !isInteger(exp)) return null;
  if (exp - iat > MAX_LIFETIME_SECONDS) return null;
  if (!isTenantId(partnerId) || !isTenantId(orgId) || !isTenantId(roleId)) return null;
  return {
    sub,
    email: typeof email === 'string' ? email : '',
    type,
    scope: scope as AccessScope,
    partnerId: partnerId ?? null,
    orgId: orgId ?? null,
    roleId: roleId ?? null,
    mfa: mfa === true,
    aep,
    mep,
    sid,
    iat,
    exp,
  };
}

/** Checks issue and expiry with the clock tolerance. */
export function isWithinLifetime(claims: Pick<AccessTokenClaims, 'iat' | 'exp'>, nowMs: number): boolean {
  const now = nowMs / 1_000;
  return now < claims.exp + CLOCK_TOLERANCE_SECONDS && claims.iat - CLOCK_TOLERANCE_SECONDS <= now;
}

/** Returns the `kid` of a token in the only accepted format: three parts, ES256, no critical header extensions. */
export function kidOf(token: string): string | null {
  if (token.length > MAX_TOKEN_CHARACTERS) return null;
  const parts = token.split('.');
  if (parts.length !== 3) return null;
  try {
    const header = JSON.parse(Buffer.from(parts[0], 'base64url').toString('utf8')) as Record<string, unknown>;
    const accepted = header.alg === 'ES256' && header.crit === undefined;
    return accepted && typeof header.kid === 'string' && header.kid.length <= 200 ? header.kid : null;
  } catch {
    return null;
  }
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
const isTenantId = (value: unknown): value is string | null | undefined =>
  value === null || value === undefined || isUuid(value);
