import type { PartnerSecurity } from '@rmm/contracts';
import type { UserMembership } from '../users/user.types.js';

/** A validated change of `settings.security`: absent fields stay, null clears one. */
export type PolicyChange = { [Field in keyof PartnerSecurity]?: Change<PartnerSecurity[Field]> };
type Change<Value> = Value extends boolean | number | unknown[] | undefined
  ? Value | null
  : { [Key in keyof Value]?: Value[Key] | null } | null;

const METHODS = ['totp', 'sms'] as const;

/** Returns the policy after a change; methods merge per method. A change of null clears everything. */
export function changePolicy(stored: PartnerSecurity, change: PolicyChange | null): PartnerSecurity {
  if (change === null) return {};
  const { allowedMfaMethods: methods, ...others } = change;
  const changed: PartnerSecurity = merge(stored, others);
  if (methods === undefined) return changed;
  return merge(changed, { allowedMfaMethods: methods && merge(stored.allowedMfaMethods ?? {}, methods) });
}

/** Checks whether a change is stricter than before: a factor becomes required, or fewer methods are allowed. */
export function tightensMfa(before: PartnerSecurity, after: PartnerSecurity): boolean {
  if (after.requireMfa && !before.requireMfa) return true;
  return METHODS.some((method) => allows(before, method) && !allows(after, method));
}

export const allows = (policy: PartnerSecurity, method: 'totp' | 'sms'): boolean =>
  policy.allowedMfaMethods?.[method] !== false;

export type PolicyOwners = Pick<UserMembership, 'partnerSecurity' | 'organizationSecurity'>;

/** Returns the longest session lifetime in a membership, in hours; null when neither policy limits it. */
export function sessionLifetimeHours({ partnerSecurity, organizationSecurity }: PolicyOwners): number | null {
  const lifetimes = [partnerSecurity?.sessionLifetimeHours, organizationSecurity?.sessionLifetimeHours];
  const hours = lifetimes.filter((value) => typeof value === 'number');
  return hours.length > 0 ? Math.min(...hours) : null;
}

/** The longest password a tenant may require: the same password opens its members' other tenants. */
export const MAX_PASSWORD_MIN_LENGTH = 64;

/**
 * Returns the greatest minimum length of all memberships, since one password opens each of them, and at most 64; 0
 * without any.
 */
export const passwordMinLength = (memberships: readonly PolicyOwners[]): number => {
  const lengths = memberships
    .flatMap((owners) => [owners.partnerSecurity, owners.organizationSecurity])
    .map((policy) => policy?.passwordMinLength ?? 0);
  return Math.min(MAX_PASSWORD_MIN_LENGTH, Math.max(0, ...lengths));
};

/** Merges objects: null removes a key, and an object without keys is removed too. */
function merge<T extends object>(stored: T, change: object): T {
  const entries = Object.entries({ ...stored, ...withoutUndefined(change) }).filter(([, value]) => !isEmpty(value));
  return Object.fromEntries(entries) as T;
}

const withoutUndefined = (object: object): object =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0);
