import { isEmail } from 'class-validator';
import { type ParsedRows, parseRows, RowReader } from '../../import/row-reader.js';
import { nameKey } from '../../organizations/name-key.js';
import { CONTACT_ROLES, type ContactRole } from '../contact.entity.js';
import type { ContactImportErrorCode } from './dto/contact-import-results.dto.js';

/** The effect that an import has on a contact row. @see docs/reference/provisioning.md#contact-import */
export const CONTACT_ANNOTATIONS = [
  'create',
  'link-match',
  'email-match',
  'name-match',
  'conflict',
  'org-not-found',
] as const;
export type ContactAnnotation = (typeof CONTACT_ANNOTATIONS)[number];

/** The reason a row cannot be imported. */
export interface RowRefusal {
  code: ContactImportErrorCode;
  text: string;
  /** The column to blame; absent when it is not one alone. */
  field?: string;
}

/** A validated row: blank fields are null. */
export interface ContactRow {
  index: number;
  organizationId: string | null;
  organization: string | null;
  site: string | null;
  name: string | null;
  /** Empty without a name. */
  nameKey: string;
  email: string | null;
  phone: string | null;
  mobile: string | null;
  title: string | null;
  /** Empty when the row names none. */
  roles: ContactRole[];
  externalId: string | null;
  externalSystem: string;
  expectedAnnotation: ContactAnnotation | null;
  expectedContactId: string | null;
  /** A problem of this row alone; the others are imported. */
  refusal: RowRefusal | null;
}

const DEFAULT_SYSTEM = 'csv';
const MAX_ROLES = 50;
const KNOWN_COLUMNS = new Set([
  'organizationId',
  'organization',
  'site',
  'name',
  'email',
  'phone',
  'mobile',
  'title',
  'roles',
  'externalId',
  'externalSystem',
  'expectedAnnotation',
  'expectedContactId',
]);

/** Reads the columns of a contact. */
class ContactRowReader extends RowReader {
  email(): string | null {
    const email = this.text('email', 255)?.toLowerCase() ?? null;
    if (email !== null && !isEmail(email)) this.refuse('email', 'must be an e-mail address');
    return email;
  }

  /** Returns the words, lower-cased; unknown ones are a problem of the row alone. */
  roles(): string[] {
    const given = this.row['roles'] ?? [];
    if (!Array.isArray(given) || given.length > MAX_ROLES || !given.every((role) => typeof role === 'string')) {
      this.refuse('roles', `must be a list of at most ${MAX_ROLES} words`);
      return [];
    }
    const words = given.map((role) => role.trim().toLowerCase()).filter((role) => role !== '');
    return [...new Set(words)];
  }

  requireOneOf(row: ContactRow, ...[first, ...others]: [keyof ContactRow, ...(keyof ContactRow)[]]): void {
    if ([first, ...others].some((field) => row[field] !== null || this.isRefused(field))) return;
    this.refuse(first, `or one of ${others.join(', ')} is required`);
  }
}

function readRow(reader: ContactRowReader, index: number): ContactRow {
  const name = reader.text('name', 255);
  const words = reader.roles();
  const roles = words.filter(isRole);
  const row: ContactRow = {
    index,
    organizationId: reader.uuid('organizationId'),
    organization: reader.text('organization', 255),
    site: reader.text('site', 255),
    name,
    nameKey: nameKey(name ?? ''),
    email: reader.email(),
    phone: reader.text('phone', 64),
    mobile: reader.text('mobile', 64),
    title: reader.text('title', 255),
    roles,
    externalId: reader.reference('externalId', 255),
    externalSystem: reader.reference('externalSystem', 64) ?? DEFAULT_SYSTEM,
    expectedAnnotation: reader.word('expectedAnnotation', CONTACT_ANNOTATIONS),
    expectedContactId: reader.uuid('expectedContactId'),
    refusal: null,
  };
  reader.requireOneOf(row, 'organization', 'organizationId');
  reader.requireOneOf(row, 'name', 'email', 'phone', 'mobile');
  return { ...row, ...usableIdentity(row, words.length > roles.length) };
}

/** Drops a name without letters and numbers without digits; a row that keeps nothing is refused. */
function usableIdentity(row: ContactRow, hasUnknownRole: boolean): Partial<ContactRow> {
  const name = row.name !== null && /[\p{L}\p{N}]/u.test(row.name) ? row.name : null;
  const phone = withDigits(row.phone);
  const mobile = withDigits(row.mobile);
  let refusal: RowRefusal | null = null;
  if ((name ?? row.email ?? phone ?? mobile) === null) {
    refusal = { code: 'no-identifier', text: 'The row has no usable name, e-mail address or number' };
  } else if (hasUnknownRole) {
    refusal = { code: 'invalid-role', text: `Roles are ${CONTACT_ROLES.join(', ')}`, field: 'roles' };
  }
  return { name, nameKey: name === null ? '' : row.nameKey, phone, mobile, refusal };
}

const withDigits = (text: string | null): string | null => (text !== null && /\d/.test(text) ? text : null);

const isRole = (word: string): word is ContactRole => (CONTACT_ROLES as readonly string[]).includes(word);

/** Validates the rows of a contact import. @see docs/reference/provisioning.md#contact-import */
export const parseContactRows = (given: readonly unknown[]): Promise<ParsedRows<ContactRow>> =>
  parseRows(given, (...row) => new ContactRowReader(...row, KNOWN_COLUMNS), readRow);
