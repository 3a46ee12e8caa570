import { isEmail } from 'class-validator';
import { isRecord, type RawCompany } from './adapters/psa.adapter.js';
import type { PsaProvider } from './psa-providers.constants.js';
import { toTimeZone } from './time-zones/time-zone-names.js';

/** A row of an organization import, created from a company. Absent fields leave stored values alone. */
export interface CompanyRow {
  organization: string;
  externalId: string;
  externalSystem: PsaProvider;
  site?: string;
  timezone?: string;
  address?: Record<string, string>;
  contact?: Record<string, string>;
}

export interface ReadCompany {
  row: CompanyRow;
  /** A time zone that is none of IANA or Windows; the row is imported without it. */
  unknownTimezone: string | null;
}

const MAX_NAME = 255;
const MAX_CODE = 64;
const ADDRESS_LIMITS = {
  line1: MAX_NAME,
  line2: MAX_NAME,
  city: MAX_NAME,
  region: MAX_NAME,
  postalCode: MAX_CODE,
  country: MAX_NAME,
} as const;
/** Unusable in a name of ours: control characters, characters that are not shown, and half of a surrogate pair. */
const HIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Returns the row of a company; null for one without an id or a name. Texts are trimmed, composed and cut to what a row may have, so that
 * one company never makes the other rows fail.
 */
export function toCompanyRow(provider: PsaProvider, company: RawCompany): ReadCompany | null {
  const externalId = textOf(company.externalId, Number.POSITIVE_INFINITY);
  const organization = textOf(company.name, MAX_NAME);
  // A cut id would be the id of another company.
  if (externalId === null || externalId.length > MAX_NAME || organization === null) return null;
  const label = textOf(company.timezone, MAX_NAME);
  const timezone = label === null ? null : toTimeZone(label);
  const site = textOf(company.site, MAX_NAME);
  const address = textsOf(company.address, ADDRESS_LIMITS);
  const contact = textsOf(company.contact, { name: MAX_NAME, email: MAX_NAME, phone: MAX_CODE });
  if (contact['email'] !== undefined && !isEmail(contact['email'])) delete contact['email'];
  return {
    row: {
      organization,
      externalId,
      externalSystem: provider,
      ...(site !== null && { site }),
      ...(timezone !== null && { timezone }),
      ...(Object.keys(address).length > 0 && { address }),
      ...(Object.keys(contact).length > 0 && { contact }),
    },
    unknownTimezone: label !== null && timezone === null ? label : null,
  };
}

function textsOf(given: unknown, limits: Readonly<Record<string, number>>): Record<string, string> {
  if (!isRecord(given)) return {};
  const texts = Object.entries(limits).map(([name, max]) => [name, textOf(given[name], max)] as const);
  return Object.fromEntries(texts.filter((entry): entry is [string, string] => entry[1] !== null));
}

/** Returns a text or number as it is stored; null when nothing is left. */
function textOf(value: unknown, max: number): string | null {
  if (typeof value === 'number' ? !Number.isFinite(value) : typeof value !== 'string') return null;
  const text = String(value).slice(0, 20_000).replace(HIDDEN, ' ').normalize('NFC').trim();
  if (text.length <= max) return text === '' ? null : text;
  // Half of a surrogate pair cannot be stored.
  return text
    .slice(0, max)
    .replace(/[\ud800-\udbff]$/, '')
    .trim();
}
