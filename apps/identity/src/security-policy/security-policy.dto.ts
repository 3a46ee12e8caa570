import type { Type } from '@nestjs/common';
import { IsCidrList, IsFlag, IsInteger, IsNested, readDto, ValidationError } from '@rmm/service-kit';
import { canonicalRange } from './address-range.js';
import type { PolicyChange } from './security-policy.js';

const PATH = 'settings.security';
const MAX_RANGES = 200;
const may = { optional: true, nullable: true };

class AllowedMethodsDto {
  @IsFlag(may)
  totp?: boolean | null;

  @IsFlag(may)
  sms?: boolean | null;
}

class OrganizationSecurityDto {
  @IsFlag(may)
  requireMfa?: boolean | null;

  @IsNested(() => AllowedMethodsDto, may)
  allowedMfaMethods?: AllowedMethodsDto | null;

  /** Another name of `allowedMfaMethods`. */
  @IsNested(() => AllowedMethodsDto, may)
  allowedMethods?: AllowedMethodsDto | null;

  @IsInteger({ ...may, min: 1, max: 2160 })
  sessionLifetimeHours?: number | null;

  @IsInteger({ ...may, min: 8, max: 128 })
  passwordMinLength?: number | null;
}

class PartnerSecurityDto extends OrganizationSecurityDto {
  @IsInteger({ ...may, max: 30 })
  mfaEnrollmentGraceDays?: number | null;

  @IsCidrList({ ...may, max: MAX_RANGES })
  ipAllowlist?: string[] | null;
}

/** Reads what a partner wants changed. @throws ValidationError with paths below `settings.security` */
export function readPartnerChange(raw: unknown): PolicyChange | null {
  const change = readChange(PartnerSecurityDto, raw);
  return change?.ipAllowlist ? { ...change, ipAllowlist: canonicalList(change.ipAllowlist) } : change;
}

/** The same for an organization, which has fewer fields. */
export const readOrganizationChange = (raw: unknown): PolicyChange | null => readChange(OrganizationSecurityDto, raw);

function readChange(type: Type<PartnerSecurityDto>, raw: unknown): PolicyChange | null {
  if (raw === null) return null;
  if (typeof raw !== 'object' || Array.isArray(raw)) throw ValidationError.of(PATH, 'must be an object');
  const { allowedMethods, ...change } = readBelowPath(type, raw);
  if (allowedMethods === undefined) return change;
  if (change.allowedMfaMethods !== undefined) {
    throw ValidationError.of(`${PATH}.allowedMethods`, 'is another name of allowedMfaMethods: send one of them');
  }
  return { ...change, allowedMfaMethods: allowedMethods };
}

function readBelowPath<T extends object>(type: Type<T>, raw: unknown): T {
  try {
    return readDto(type, raw);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const named = Object.entries(error.fieldErrors ?? {}).map(([path, texts]) => [`${PATH}.${path}`, texts] as const);
    throw new ValidationError(undefined, { fieldErrors: Object.fromEntries(named) });
  }
}

function canonicalList(ranges: string[]): string[] {
  const canonical = ranges.map((range, index) => {
    const text = canonicalRange(range);
    if (text === null) throw ValidationError.of(`${PATH}.ipAllowlist.${index}`, 'must be an address or CIDR range');
    return text;
  });
  return [...new Set(canonical)];
}
