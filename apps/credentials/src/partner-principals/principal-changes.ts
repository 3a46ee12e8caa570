import type { UpdatePartnerPrincipalDto } from './dto/update-partner-principal.dto.js';
import type { PartnerPrincipal } from './partner-principal.entity.js';

const FIELDS = ['name', 'description', 'status', 'scopes', 'expiresAt', 'sourceCidrs'] as const;
type Field = (typeof FIELDS)[number];

export const namesNoField = (dto: UpdatePartnerPrincipalDto): boolean =>
  FIELDS.every((field) => dto[field] === undefined);

/** The principal as it will be: what the change leaves out stays. */
export function changed(before: PartnerPrincipal, dto: UpdatePartnerPrincipalDto): PartnerPrincipal {
  const given = FIELDS.flatMap((field) => (dto[field] === undefined ? [] : [[field, dto[field]]]));
  return { ...before, ...(Object.fromEntries(given) as Partial<PartnerPrincipal>) };
}

/** Of each field that differs what it was and what it is, for the audit row. */
export function differences(before: PartnerPrincipal, after: PartnerPrincipal): Partial<Record<Field, object>> {
  const differs = (field: Field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]);
  return Object.fromEntries(FIELDS.filter(differs).map((field) => [field, { from: before[field], to: after[field] }]));
}

/**
 * The scopes a change hands out, all of which whoever makes it must hold: those it adds, and every one where keys will
 * work at a time at which they would not have. Enabling again and a later end are grants too; otherwise a principal
 * could be disabled and enabled, or its end pushed ahead, by somebody who could never have made it.
 */
export function scopesGranted(before: PartnerPrincipal, after: PartnerPrincipal, now: Date): string[] {
  if (worksUntil(after) > Math.max(worksUntil(before), now.getTime())) return after.scopes;
  return after.scopes.filter((scope) => !before.scopes.includes(scope));
}

const worksUntil = ({ status, expiresAt }: PartnerPrincipal): number =>
  status === 'disabled' ? 0 : (expiresAt?.getTime() ?? Infinity);
