import type { Type } from '@nestjs/common';
import { ValidationError } from '@rmm/service-kit';
import { IsCidrList, IsFlag, IsInteger, IsNested, readDto } from '@rmm/validation';
import { canonicalRange } from '../address-range.js';
import { MAX_PASSWORD_MIN_LENGTH, type PolicyChange } from '../security.policy.js';

const PATH = 'settings.security';
const MAX_RANGES = 200;
const OPTIONAL = { optional: true, nullable: true };

class AllowedMethodsDto {
  @IsFlag({ ...OPTIONAL, description: 'Whether authenticator apps are allowed' })
  totp?: boolean | null;

  @IsFlag({ ...OPTIONAL, description: 'Whether codes by SMS are allowed' })
  sms?: boolean | null;
}

class OrganizationSecurityDto {
  @IsFlag({ ...OPTIONAL, description: 'Whether members must enroll a second factor' })
  requireMfa?: boolean | null;

  @IsNested(() => AllowedMethodsDto, { ...OPTIONAL, description: 'Second factors that members may use' })
  allowedMfaMethods?: AllowedMethodsDto | null;

  /** An alias of `allowedMfaMethods`. */
  @IsNested(() => AllowedMethodsDto, { ...OPTIONAL, description: 'An alias of `allowedMfaMethods`' })
  allowedMethods?: AllowedMethodsDto | null;

  @IsInteger({ ...OPTIONAL, min: 1, max: 2160, description: 'Longest lifetime of a session, in hours' })
  sessionLifetimeHours?: number | null;

  @IsInteger({ ...OPTIONAL, min: 8, max: MAX_PASSWORD_MIN_LENGTH, description: 'Shortest password' })
  passwordMinLength?: number | null;
}

class PartnerSecurityDto extends OrganizationSecurityDto {
  @IsInteger({ ...OPTIONAL, max: 30, description: 'Days that members have to enroll a second factor' })
  mfaEnrollmentGraceDays?: number | null;

  @IsCidrList({ ...OPTIONAL, max: MAX_RANGES, description: 'Addresses and CIDR ranges that members may sign in from' })
  ipAllowlist?: string[] | null;
}

/** Reads a change of a partner's policy. @throws ValidationError with paths below `settings.security` */
export function readPartnerChange(raw: unknown): PolicyChange | null {
  const change = readChange(PartnerSecurityDto, raw);
  return change?.ipAllowlist ? { ...change, ipAllowlist: canonicalList(change.ipAllowlist) } : change;
}

/** Reads a change of an organization's policy, which has fewer fields. @throws ValidationError as above */
export const readOrganizationChange = (raw: unknown): PolicyChange | null => readChange(OrganizationSecurityDto, raw);

function readChange(type: Type<PartnerSecurityDto>, raw: unknown): PolicyChange | null {
  if (raw === null) return null;
  if (typeof raw !== 'object' || Array.isArray(raw)) throw ValidationError.forField(PATH, 'must be an object');
  const { allowedMethods, ...change } = readBelowPath(type, raw);
  if (allowedMethods === undefined) return change;
  if (change.allowedMfaMethods !== undefined) {
    throw ValidationError.forField(`${PATH}.allowedMethods`, 'is an alias of allowedMfaMethods: send one of them');
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
    if (text === null)
      throw ValidationError.forField(`${PATH}.ipAllowlist.${index}`, 'must be an address or CIDR range');
    return text;
  });
  return [...new Set(canonical)];
}
