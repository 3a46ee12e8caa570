import type { AccessScope } from '@rmm/contracts';

/** The claims of a verified access token. Times are Unix seconds. @see CONTRACT.md 2.1 */
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

/** Seconds a token may be past its end, or before its beginning, for clocks that differ. */
export const CLOCK_TOLERANCE_SECONDS = 30;

const SCOPES: readonly unknown[] = ['system', 'partner', 'organization'];

/** Reads the payload of a token whose signature was checked; null when it is not a whole access token. */
export function readClaims(payload: Record<string, unknown>): AccessTokenClaims | null {
  const { sub, email, type, scope, partnerId, orgId, roleId, mfa, aep, mep, sid, iat, exp } = payload;
  if (type !== 'access' || typeof sub !== 'string' || typeof sid !== 'string' || !SCOPES.includes(scope)) return null;
  if (!isInteger(aep) || !isInteger(mep) || !isInteger(iat) || !isInteger(exp)) return null;
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

/** Is the token inside its lifetime, tolerance included? */
export function isInForce(claims: Pick<AccessTokenClaims, 'iat' | 'exp'>, nowMs: number): boolean {
  const now = nowMs / 1_000;
  return now < claims.exp + CLOCK_TOLERANCE_SECONDS && claims.iat - CLOCK_TOLERANCE_SECONDS <= now;
}

const isInteger = (value: unknown): value is number => Number.isInteger(value);
const isTenantId = (value: unknown): value is string | null | undefined =>
  value === null || value === undefined || typeof value === 'string';
