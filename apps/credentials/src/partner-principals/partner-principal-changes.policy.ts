import { hasMoreAddresses } from '../key-limits/source-addresses.policy.js';
import type { UpdatePartnerPrincipalDto } from './dto/update-partner-principal.dto.js';
import type { PartnerPrincipal } from './partner-principal.entity.js';

const FIELDS = ['name', 'description', 'status', 'scopes', 'expiresAt', 'sourceCidrs'] as const;
type Field = (typeof FIELDS)[number];

/** Returns true when a request contains no field to change. */
export function isEmptyUpdate(dto: UpdatePartnerPrincipalDto): boolean {
  return FIELDS.every((field) => dto[field] === undefined);
}

/** Returns the principal with the fields of the request; absent fields keep their value. */
export function applyUpdate(before: PartnerPrincipal, dto: UpdatePartnerPrincipalDto): PartnerPrincipal {
  const given = FIELDS.flatMap((field) => (dto[field] === undefined ? [] : [[field, dto[field]]]));
  return { ...before, ...(Object.fromEntries(given) as Partial<PartnerPrincipal>) };
}

/** Returns the old and new value of each changed field, for the audit entry. */
export function describeChanges(before: PartnerPrincipal, after: PartnerPrincipal): Partial<Record<Field, object>> {
  const differs = (field: Field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]);
  return Object.fromEntries(FIELDS.filter(differs).map((field) => [field, { from: before[field], to: after[field] }]));
}

/**
 * Returns the scopes a change grants, which the caller must be able to grant: the added ones, and all of them when the
 * keys will work at a time or from an address at which they would not have. Enabling a principal, a later expiry and more
 * addresses are grants too; otherwise a caller could extend a principal that they may not create.
 */
export function grantedScopes(before: PartnerPrincipal, after: PartnerPrincipal, now: Date): string[] {
  const worksLonger = worksUntil(after) > Math.max(worksUntil(before), now.getTime());
  if (worksLonger || hasMoreAddresses(before.sourceCidrs, after.sourceCidrs)) return after.scopes;
  return after.scopes.filter((scope) => !before.scopes.includes(scope));
}

function worksUntil({ status, expiresAt }: PartnerPrincipal): number {
  return status === 'disabled' ? 0 : (expiresAt?.getTime() ?? Infinity);
}
