import type { PartnerStatus } from '@rmm/contracts';
import { isTimeZone, isUuid } from '@rmm/validation';
import { readText, isVersion, type ReadState } from './read-state.js';

/** The fields of a partner that other services than identity store. */
export interface DirectoryPartner {
  partnerId: string;
  name: string;
  slug: string;
  status: PartnerStatus;
  /** Caps; null means none. */
  maxOrganizations: number | null;
  maxDevices: number | null;
  /** The longest lifetime of an enrollment key; null for no limit. */
  enrollmentMaxTtlMinutes: number | null;
  /** IANA name. */
  timezone: string;
  version: number;
}

/** The values with which nothing more can be created. */
export const STRICTEST = { maxOrganizations: 0, maxDevices: 0, enrollmentMaxTtlMinutes: 1 } as const;

const MAX_INTEGER = 2_147_483_647;
const MAX_TTL_MINUTES = 525_600;
const STATUSES: ReadonlySet<unknown> = new Set<PartnerStatus>([
  'pending',
  'active',
  'suspended',
  'churned',
  'offboarding',
]);

/**
 * Reads the state of a partner from a message of identity. A cap that cannot be read has the strictest value.
 * @returns null when the partner, its status or its version cannot be read
 */
export function readPartner(data: unknown): ReadState<DirectoryPartner> | null {
  const { partnerId, name, slug, status, maxOrganizations, maxDevices, timezone, settings, version } = Object(
    data,
  ) as Record<string, unknown>;
  if (!isUuid(partnerId) || !isVersion(version) || !STATUSES.has(status)) return null;
  const malformed: string[] = [];
  const entry = {
    partnerId: partnerId.toLowerCase(),
    name: readText(name, 'name', malformed),
    slug: readText(slug, 'slug', malformed),
    status: status as PartnerStatus,
    maxOrganizations: readCap(maxOrganizations, 'maxOrganizations', malformed),
    maxDevices: readCap(maxDevices, 'maxDevices', malformed),
    enrollmentMaxTtlMinutes: readMaxTtl(settings, malformed),
    timezone: typeof timezone === 'string' && isTimeZone(timezone) ? timezone : 'UTC',
    version,
  };
  return { entry, malformed };
}

function readCap(value: unknown, field: 'maxOrganizations' | 'maxDevices', malformed: string[]): number | null {
  if (value === null || isIntegerWithin(value, 0, MAX_INTEGER)) return value;
  malformed.push(field);
  return STRICTEST[field];
}

function readMaxTtl(settings: unknown, malformed: string[]): number | null {
  const enrollment = fieldOf(settings, 'enrollment');
  const minutes = fieldOf(enrollment, 'maxTtlMinutes');
  if (minutes === null || isIntegerWithin(minutes, 1, MAX_TTL_MINUTES)) return minutes;
  malformed.push('settings.enrollment.maxTtlMinutes');
  return STRICTEST.enrollmentMaxTtlMinutes;
}

/** Returns a field of an object; null when it or the object is absent, NaN when the object is none. */
function fieldOf(object: unknown, field: string): unknown {
  if (object === undefined || object === null) return null;
  if (typeof object !== 'object' || Array.isArray(object)) return NaN;
  return (object as Record<string, unknown>)[field] ?? null;
}

const isIntegerWithin = (value: unknown, min: number, max: number): value is number =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
