import { isEmail } from 'class-validator';
import { isTimeZone } from '@rmm/validation';
import { nameKey } from '../organizations/name-key.js';
import { toSiteAddress, toSiteContact, type SiteAddress, type SiteContact } from '../sites/site-details.mapper.js';
import { type ParsedRows, parseRows, RowReader } from './row-reader.js';

/** The effect that an import has on a row. @see docs/reference/provisioning.md */
export const ANNOTATIONS = ['create', 'link-match', 'name-match', 'matched-soft-deleted', 'conflict'] as const;
export type Annotation = (typeof ANNOTATIONS)[number];

/** A validated row: blank fields are null. */
export interface ImportRow {
  index: number;
  organization: string;
  /** The key of the name, by which organizations are compared. */
  nameKey: string;
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

const DEFAULT_SYSTEM = 'csv';
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

/** Reads the columns of an organization. */
class OrganizationRowReader extends RowReader {
  timezone(): string | null {
    const value = this.text('timezone', 64);
    if (value !== null && !isTimeZone(value)) this.refuse('timezone', 'must be an IANA time zone');
    return value;
  }

  address(): SiteAddress | null {
    const value = this.row['address'] ?? null;
    if (value === null) return null;
    if (typeof value === 'string') return toSiteAddress({ line1: this.line(value, 'address', 255) });
    return toSiteAddress(this.details('address', ADDRESS_LIMITS));
  }

  contact(): SiteContact | null {
    if ((this.row['contact'] ?? null) === null) return null;
    const contact = toSiteContact(this.details('contact', CONTACT_LIMITS));
    if (contact?.email && !isEmail(contact.email)) this.refuse('contact.email', 'must be an e-mail address');
    return contact && { ...contact, email: contact.email?.toLowerCase() ?? null };
  }
}

function readRow(reader: OrganizationRowReader, index: number): ImportRow {
  const organization = reader.name('organization', 255);
  return {
    index,
    organization,
    nameKey: nameKey(organization),
    site: reader.text('site', 255),
    externalId: reader.reference('externalId', 255),
    externalSystem: reader.reference('externalSystem', 64) ?? DEFAULT_SYSTEM,
    timezone: reader.timezone(),
    address: reader.address(),
    contact: reader.contact(),
    expectedAnnotation: reader.word('expectedAnnotation', ANNOTATIONS),
    expectedOrganizationId: reader.uuid('expectedOrganizationId'),
    reactivate: reader.flag('reactivate'),
    forceCreate: reader.flag('forceCreate'),
  };
}

/** Validates the rows of an organization import. @see docs/reference/provisioning.md */
export const parseImportRows = (given: readonly unknown[]): Promise<ParsedRows<ImportRow>> =>
  parseRows(given, (...row) => new OrganizationRowReader(...row, KNOWN_COLUMNS), readRow);
