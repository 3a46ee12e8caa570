import { findMappingProblems, guessMapping, missingFields, RowMapper } from './column-mapping.js';

describe('guessMapping', () => {
  it.each([
    [
      'organizations',
      ['Company Name', 'Account #', 'ZIP code', 'E-Mail'],
      ['organization', 'address.postalCode', 'contact.email'],
    ],
    ['organizations', ['Firma', 'Straße', 'PLZ', 'Ort'], ['organization', 'address.postalCode', 'address.city']], // cspell:disable-line
    [
      'contacts',
      ['Client', 'Full name', 'E-mail address', 'Mobile phone', 'Job title'],
      ['organization', 'name', 'email', 'mobile', 'title'],
    ],
    ['contacts', ['organizationId', 'name'], ['organizationId', 'name']],
  ] as const)('finds the fields of %s in %j', (kind, columns, fields) => {
    expect(Object.keys(guessMapping(kind, columns)).sort()).toEqual([...fields].sort());
  });

  it('prefers the name of a field to a synonym, and uses each column once', () => {
    expect(guessMapping('organizations', ['Name', 'organization', 'ID'])).toEqual({
      organization: 'organization',
      externalId: 'ID',
    });
  });
});

describe('a mapping', () => {
  it('needs the organization, for contacts by name or id', () => {
    expect(missingFields('organizations', {})).toEqual(['organization']);
    expect(missingFields('contacts', { organizationId: 'x' })).toEqual([]);
  });

  it('names known fields, columns of the file, and each column once', () => {
    const problems = findMappingProblems('contacts', { planet: 'a', name: 'b', email: 'a', phone: 'a' }, ['a']);
    expect(problems).toEqual({
      'mapping.planet': ['unknown field'],
      'mapping.name': ['is not a column of the file'],
      'mapping.email': ['has the column of another field'],
      'mapping.phone': ['has the column of another field'],
    });
  });
});

describe('RowMapper', () => {
  it('nests fields, divides roles and leaves blank cells out', () => {
    const columns = ['c', 'city', 'roles', 'zip'];
    const organization = new RowMapper('organizations', columns, {
      organization: 'c',
      'address.city': 'city',
      'address.postalCode': 'zip',
    });
    expect(organization.toRow([' Acme ', 'Bonn', '', ' '])).toEqual({
      organization: 'Acme',
      address: { city: 'Bonn' },
    });
    const contact = new RowMapper('contacts', columns, { organization: 'c', roles: 'roles' });
    expect(contact.toRow(['Acme', '', 'billing; portal'])).toEqual({
      organization: 'Acme',
      roles: ['billing', ' portal'],
    });
    expect(contact.toRow(['Acme'])).toEqual({ organization: 'Acme' });
  });
});
