import type { ImportKind } from '../import-run.entity.js';

interface ImportField {
  /** Other names of the column, without spaces and punctuation. */
  synonyms: readonly string[];
  isRequired?: boolean;
}

const ORGANIZATION_FIELDS = {
  organization: {
    synonyms: [
      'organizationname',
      'organisation', // cspell:disable-line
      'company',
      'companyname',
      'customer',
      'customername',
      'client', // cspell:disable-line
      'clientname',
      'account',
      'accountname',
      'name',
      'firma',
      'kunde',
    ], // cspell:disable-line
    isRequired: true,
  },
  site: { synonyms: ['sitename', 'location', 'locationname', 'branch', 'office', 'standort'] }, // cspell:disable-line
  externalId: {
    synonyms: [
      'id',
      'companyid',
      'customerid',
      'clientid',
      'accountid',
      'accountnumber',
      'customernumber',
      'reference',
      'externalreference',
      'kundennummer',
    ], // cspell:disable-line
  },
  externalSystem: { synonyms: ['system', 'source', 'sourcesystem'] },
  timezone: { synonyms: ['tz', 'sitetimezone', 'zeitzone'] }, // cspell:disable-line
  'address.line1': { synonyms: ['address', 'address1', 'addressline1', 'street', 'street1', 'strasse'] }, // cspell:disable-line
  'address.line2': { synonyms: ['address2', 'addressline2', 'street2'] },
  'address.city': { synonyms: ['city', 'town', 'ort', 'stadt'] }, // cspell:disable-line
  'address.region': { synonyms: ['region', 'state', 'province', 'county', 'bundesland'] }, // cspell:disable-line
  'address.postalCode': { synonyms: ['postalcode', 'postcode', 'zip', 'zipcode', 'plz'] }, // cspell:disable-line
  'address.country': { synonyms: ['country', 'land'] },
  'contact.name': { synonyms: ['contact', 'contactname', 'primarycontact', 'ansprechpartner'] }, // cspell:disable-line
  'contact.email': { synonyms: ['contactemail', 'email', 'emailaddress', 'mail'] },
  'contact.phone': { synonyms: ['contactphone', 'phone', 'phonenumber', 'telephone', 'telefon'] }, // cspell:disable-line
} as const satisfies Record<string, ImportField>;

const CONTACT_FIELDS = {
  organization: {
    synonyms: [
      'organizationname',
      'organisation', // cspell:disable-line
      'company',
      'companyname',
      'customer',
      'customername',
      'client', // cspell:disable-line
      'clientname',
      'account',
      'accountname',
      'firma',
      'kunde',
    ], // cspell:disable-line
    isRequired: true,
  },
  organizationId: { synonyms: ['orgid'] },
  site: { synonyms: ['sitename', 'location', 'locationname', 'branch', 'office', 'standort'] }, // cspell:disable-line
  name: { synonyms: ['fullname', 'contact', 'contactname', 'displayname'] },
  email: { synonyms: ['emailaddress', 'mail', 'primaryemail'] },
  phone: { synonyms: ['phonenumber', 'telephone', 'businessphone', 'workphone', 'telefon'] }, // cspell:disable-line
  mobile: { synonyms: ['mobilephone', 'cell', 'cellphone', 'mobil', 'handy'] }, // cspell:disable-line
  title: { synonyms: ['jobtitle', 'position', 'funktion'] }, // cspell:disable-line
  roles: { synonyms: ['role', 'contacttype', 'rolle'] }, // cspell:disable-line
  externalId: { synonyms: ['id', 'contactid', 'reference', 'externalreference'] },
  externalSystem: { synonyms: ['system', 'source', 'sourcesystem'] },
} as const satisfies Record<string, ImportField>;

const FIELDS: Record<ImportKind, Record<string, ImportField>> = {
  organizations: ORGANIZATION_FIELDS,
  contacts: CONTACT_FIELDS,
};

/** The column of a file for each field. */
export type ColumnMapping = Record<string, string>;

export const fieldsOf = (kind: ImportKind): string[] => Object.keys(FIELDS[kind]);

const normalize = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** Guesses the column of each field by its name and synonyms; a column serves one field. */
export function guessMapping(kind: ImportKind, columns: readonly string[]): ColumnMapping {
  const byName = new Map<string, string>();
  for (const column of columns) if (!byName.has(normalize(column))) byName.set(normalize(column), column);
  const mapping: ColumnMapping = {};
  const used = new Set<string>();
  const names = Object.entries(FIELDS[kind]).map(([field, { synonyms }]) => [field, [field, ...synonyms]] as const);
  const assign = (field: string, name: string | undefined) => {
    const column = name === undefined ? undefined : byName.get(normalize(name));
    if (column === undefined || used.has(column) || mapping[field] !== undefined) return;
    mapping[field] = column;
    used.add(column);
  };
  for (const [field, [own]] of names) assign(field, own);
  for (const [field, all] of names) for (const name of all) assign(field, name);
  return mapping;
}

/** Returns the required fields without a column. Contacts name their organization by name or by id. */
export function missingFields(kind: ImportKind, mapping: ColumnMapping): string[] {
  const required = Object.entries(FIELDS[kind]).filter(([, { isRequired }]) => isRequired);
  const missing = required.map(([field]) => field).filter((field) => mapping[field] === undefined);
  return kind === 'contacts' && mapping['organizationId'] !== undefined ? [] : missing;
}

/** Returns the problems of a mapping by its fields; empty when it can be used with the columns, if they are known. */
export function findMappingProblems(kind: ImportKind, mapping: ColumnMapping, columns: readonly string[] | null) {
  const problems: Record<string, string[]> = {};
  const known = new Set(fieldsOf(kind));
  const used = new Set<string>();
  for (const [field, column] of Object.entries(mapping)) {
    const key = `mapping.${field.slice(0, 100)}`;
    if (!known.has(field)) problems[key] = ['unknown field'];
    else if (columns !== null && !columns.includes(column)) problems[key] = ['is not a column of the file'];
    else if (used.has(column)) problems[key] = ['has the column of another field'];
    used.add(column);
  }
  return problems;
}

/** Creates a row of the JSON import from the cells of a file. */
export class RowMapper {
  private readonly fields: { path: string[]; column: number; field: string }[];

  constructor(
    private readonly kind: ImportKind,
    columns: readonly string[],
    mapping: ColumnMapping,
  ) {
    this.fields = Object.entries(mapping).map(([field, column]) => {
      return { field, path: field.split('.'), column: columns.indexOf(column) };
    });
  }

  toRow(cells: readonly string[]): Record<string, unknown> {
    const row: Record<string, unknown> = {};
    for (const { field, path, column } of this.fields) {
      const text = (cells[column] ?? '').trim();
      if (text === '') continue;
      const [first, second] = path as [string, string | undefined];
      if (this.kind === 'contacts' && field === 'roles') row[first] = text.split(/[,;|/]/);
      else if (second === undefined) row[first] = text;
      else row[first] = { ...(row[first] as object | undefined), [second]: text };
    }
    return row;
  }
}
