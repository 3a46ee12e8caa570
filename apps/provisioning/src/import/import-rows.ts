import { isEmail, isUUID } from 'class-validator';
import { forEachInTurns } from '@rmm/service-kit';
import { isStorableText, isTimeZone } from '@rmm/validation';
import { nameKey, trimName } from '../organizations/name-key.js';
import { organizationSlug } from '../organizations/organization-slug.js';
import { toSiteAddress, toSiteContact, type SiteAddress, type SiteContact } from '../sites/site-details.mapper.js';

/** The effect that an import has on a row. @see docs/reference/provisioning.md */
export const ANNOTATIONS = ['create', 'link-match', 'name-match', 'matched-soft-deleted', 'conflict'] as const;
export type Annotation = (typeof ANNOTATIONS)[number];

/** A validated row: blank fields are null. */
export interface ImportRow {
  index: number;
  organization: string;
  /** The key of the name, by which organizations are compared. */
  nameKey: string;
  /** The slug of the name, before a number is added. */
  slug: string;
  site: string | null;
  externalId: string | null;
  externalSystem: string;
  timezone: string | null;
  address: SiteAddress | null;
  contact: SiteContact | null;
  expectedAnnotation: Annotation | null;
  expectedOrganizationId: string | null;
  reactivate: boolean;
  forceCreate: boolean;
}

export interface UnknownColumn {
  code: 'unknown-column';
  column: string;
  /** Indexes of the rows that have it. */
  rows: number[];
}

export interface ParsedRows {
  rows: ImportRow[];
  warnings: UnknownColumn[];
  /** Field errors by path (`rows.3.timezone`); empty when every row is valid. */
  problems: Record<string, string[]>;
}

export const MAX_IMPORT_ROWS = 1_000;
const DEFAULT_SYSTEM = 'csv';
const MAX_NESTING = 32;
const MAX_COLUMN_NAME = 100;
const KNOWN_COLUMNS = new Set([
  'organization',
  'site',
  'externalId',
  'externalSystem',
  'timezone',
  'address',
  'contact',
  'expectedAnnotation',
  'expectedOrganizationId',
  'reactivate',
  'forceCreate',
]);
const ADDRESS_LIMITS = { line1: 255, line2: 255, city: 255, region: 255, postalCode: 64, country: 255 } as const;
const CONTACT_LIMITS = { name: 255, email: 255, phone: 64 } as const;
// eslint-disable-next-line no-control-regex -- control characters are refused
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/;

function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth < MAX_NESTING && Object.values(value).every((item) => isShallow(item, depth + 1));
}

/** Reads the fields of one row and collects their problems. */
class RowReader {
  constructor(
    private readonly row: Record<string, unknown>,
    private readonly path: string,
    private readonly problems: Record<string, string[]>,
  ) {}

  text(field: string, max: number): string | null {
    return this.line(this.row[field], field, max);
  }

  /** A reference to another system, which is compared as it was sent. */
  reference(field: string, max: number): string | null {
    return this.line(this.row[field], field, max, (text) => text.trim());
  }

  name(field: string, max: number): string {
    const value = this.text(field, max);
    if (value === null && this.isValid(field)) this.refuse(field, 'must not be empty');
    return value ?? '';
  }

  /** Other columns are ignored, but returned by a preview: nesting would overflow the writer of the response. */
  unknownColumns(): string[] {
    const names = Object.keys(this.row).filter((name) => !KNOWN_COLUMNS.has(name));
    for (const name of names) {
      if (!isShallow(this.row[name])) this.refuse(name.slice(0, MAX_COLUMN_NAME), 'must not be nested so deeply');
    }
    return names;
  }

  timezone(): string | null {
    const value = this.text('timezone', 64);
    if (value !== null && !isTimeZone(value)) this.refuse('timezone', 'must be an IANA time zone');
    return value;
  }

  flag(field: string): boolean {
    const value = this.row[field] ?? false;
    if (typeof value !== 'boolean') this.refuse(field, 'must be true or false');
    return value === true;
  }

  address(): SiteAddress | null {
    const value = this.row['address'];
    if (typeof value === 'string') return toSiteAddress({ line1: this.line(value, 'address', 255) });
    return toSiteAddress(this.details('address', ADDRESS_LIMITS));
  }

  contact(): SiteContact | null {
    const contact = toSiteContact(this.details('contact', CONTACT_LIMITS));
    if (contact?.email && !isEmail(contact.email)) this.refuse('contact.email', 'must be an e-mail address');
    return contact && { ...contact, email: contact.email?.toLowerCase() ?? null };
  }

  expectedAnnotation(): Annotation | null {
    const value = this.text('expectedAnnotation', 64);
    if (value === null || (ANNOTATIONS as readonly string[]).includes(value)) return value as Annotation | null;
    this.refuse('expectedAnnotation', `must be one of ${ANNOTATIONS.join(', ')}`);
    return null;
  }

  expectedOrganizationId(): string | null {
    const value = this.text('expectedOrganizationId', 64);
    if (value !== null && !isUUID(value)) this.refuse('expectedOrganizationId', 'must be a UUID');
    return value?.toLowerCase() ?? null;
  }

  private details<K extends string>(field: string, limits: Record<K, number>): Partial<Record<K, string | null>> {
    const value = this.row[field] ?? {};
    if (typeof value !== 'object' || Array.isArray(value)) {
      this.refuse(field, 'must be an object');
      return {};
    }
    const given = value as Record<string, unknown>;
    const lines = Object.entries(limits) as [K, number][];
    return Object.fromEntries(
      lines.map(([key, max]) => [key, this.line(given[key], `${field}.${key}`, max)]),
    ) as Partial<Record<K, string | null>>;
  }

  /** Lengths are those of the text that is stored, after normalization. */
  private line(value: unknown, field: string, max: number, normalize = trimName): string | null {
    if (value === undefined || value === null) return null;
    if (typeof value !== 'string') {
      this.refuse(field, 'must be a string');
      return null;
    }
    const text = normalize(value);
    if (text.length > max) this.refuse(field, `must be at most ${max} characters`);
    if (CONTROL_CHARACTERS.test(text)) this.refuse(field, 'must not contain control characters');
    else if (!isStorableText(text)) this.refuse(field, 'must not contain half of a surrogate pair');
    return text === '' ? null : text;
  }

  private isValid(field: string): boolean {
    return !Object.hasOwn(this.problems, `${this.path}.${field}`);
  }

  private refuse(field: string, text: string): void {
    (this.problems[`${this.path}.${field}`] ??= []).push(text);
  }
}

function readRow(reader: RowReader, index: number): ImportRow {
  const organization = reader.name('organization', 255);
  return {
    index,
    organization,
    nameKey: nameKey(organization),
    slug: organizationSlug(organization),
    site: reader.text('site', 255),
    externalId: reader.reference('externalId', 255),
    externalSystem: reader.reference('externalSystem', 64) ?? DEFAULT_SYSTEM,
    timezone: reader.timezone(),
    address: reader.address(),
    contact: reader.contact(),
    expectedAnnotation: reader.expectedAnnotation(),
    expectedOrganizationId: reader.expectedOrganizationId(),
    reactivate: reader.flag('reactivate'),
    forceCreate: reader.flag('forceCreate'),
  };
}

/**
 * Validates the rows of an organization import, without blocking the event loop. Unknown columns are ignored and reported as warnings; a malformed field
 * is a problem for which the whole request is refused.
 * @see docs/reference/provisioning.md
 */
export async function parseImportRows(given: readonly unknown[]): Promise<ParsedRows> {
  const problems: Record<string, string[]> = {};
  const unknown = new Map<string, number[]>();
  const rows: ImportRow[] = [];
  await forEachInTurns(given, (row, index) => {
    if (typeof row !== 'object' || row === null || Array.isArray(row)) {
      problems[`rows.${index}`] = ['must be an object'];
      return;
    }
    const reader = new RowReader(row as Record<string, unknown>, `rows.${index}`, problems);
    for (const column of reader.unknownColumns()) {
      const seen = unknown.get(column);
      if (seen) seen.push(index);
      else unknown.set(column, [index]);
    }
    rows.push(readRow(reader, index));
  });
  const warnings = [...unknown].map(([column, indexes]): UnknownColumn => ({
    code: 'unknown-column',
    column,
    rows: indexes,
  }));
  return { rows, warnings, problems };
}
