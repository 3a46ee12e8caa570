import type { PartnerSecurity } from '@rmm/contracts';
import type { UserMembership } from '../users/user.js';

/** A change of `settings.security`, validated: absent leaves alone, null clears. */
export type PolicyChange = { [Field in keyof PartnerSecurity]?: Change<PartnerSecurity[Field]> };
type Change<Value> = Value extends boolean | number | unknown[] | undefined
  ? Value | null
  : { [Key in keyof Value]?: Value[Key] | null } | null;

const METHODS = ['totp', 'sms'] as const;

/** What is stored after the change; methods merge per method. Null as a whole clears everything. */
export function changedPolicy(stored: PartnerSecurity, change: PolicyChange | null): PartnerSecurity {
  if (change === null) return {};
  const { allowedMfaMethods: methods, ...others } = change;
  const changed: PartnerSecurity = merged(stored, others);
  if (methods === undefined) return changed;
  return merged(changed, { allowedMfaMethods: methods && merged(stored.allowedMfaMethods ?? {}, methods) });
}

/** Does the change ask for more than before: a factor where none was demanded, or fewer methods? */
export function tightensMfa(before: PartnerSecurity, after: PartnerSecurity): boolean {
  if (after.requireMfa && !before.requireMfa) return true;
  return METHODS.some((method) => allows(before, method) && !allows(after, method));
}

export const allows = (policy: PartnerSecurity, method: 'totp' | 'sms'): boolean =>
  policy.allowedMfaMethods?.[method] !== false;

export type PolicyOwners = Pick<UserMembership, 'partnerSecurity' | 'organizationSecurity'>;

/** The longest life of a session in this membership, in hours: the shorter of what the owners say; null when they do not. */
export function sessionLifetimeHours({ partnerSecurity, organizationSecurity }: PolicyOwners): number | null {
  const said = [partnerSecurity?.sessionLifetimeHours, organizationSecurity?.sessionLifetimeHours];
  const hours = said.filter((value) => typeof value === 'number');
  return hours.length > 0 ? Math.min(...hours) : null;
}

/** The strictest wish of all who have this user as a member: one password opens every membership. 0 when nobody has one. */
export const passwordMinLength = (memberships: readonly PolicyOwners[]): number =>
  Math.max(
    0,
    ...memberships
      .flatMap((owners) => [owners.partnerSecurity, owners.organizationSecurity])
      .map((policy) => policy?.passwordMinLength ?? 0),
  );

/** Null removes a key, an object without keys left is removed too. */
function merged<T extends object>(stored: T, change: object): T {
  const entries = Object.entries({ ...stored, ...withoutUndefined(change) }).filter(([, value]) => !isNothing(value));
  return Object.fromEntries(entries) as T;
}

const withoutUndefined = (object: object): object =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

const isNothing = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0);
