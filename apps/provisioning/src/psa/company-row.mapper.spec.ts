import { toCompanyRow } from './company-row.mapper.js';

const rowOf = (company: object) => toCompanyRow('syncro', { externalId: 1, name: 'Acme', ...company });

describe('toCompanyRow', () => {
  it('names the system of the connection, whatever the company says', () => {
    expect(rowOf({ externalSystem: 'connectwise' })?.row).toEqual({
      organization: 'Acme',
      externalId: '1',
      externalSystem: 'syncro',
    });
  });

  it.each<[string, object]>([
    ['no name', { name: undefined }],
    ['a blank name', { name: ' \t\u200b ' }],
    ['a name that is no text', { name: { first: 'Acme' } }],
    ['no id', { externalId: null }],
    ['a blank id', { externalId: '  ' }],
    ['an id that is no number', { externalId: Number.NaN }],
    ['an id of 256 characters, which cut would be another company', { externalId: 'x'.repeat(256) }],
  ])('drops a company with %s', (_what, company) => {
    expect(rowOf(company)).toBeNull();
  });

  it.each([
    ['is trimmed', '  Acme  ', 'Acme'],
    ['is composed', 'Cafe\u0301', 'Caf\u00e9'],
    ['loses control and hidden characters', 'A\u0000B\u202eC\ufeff', 'A B C'],
    ['keeps characters beyond the basic plane', '\ud835\udcb0nicode \ud83d\ude00', '\ud835\udcb0nicode \ud83d\ude00'],
    ['loses half of a surrogate pair', 'A\ud800', 'A'],
    ['is cut to 255 characters', 'x'.repeat(300), 'x'.repeat(255)],
    ['is not cut within a surrogate pair', `${'x'.repeat(254)}\ud83d\ude00`, 'x'.repeat(254)],
    ['may be a number', 42, '42'],
  ])('has a name that %s', (_what, name, organization) => {
    expect(rowOf({ name })?.row.organization).toBe(organization);
  });

  it('keeps the id 0', () => {
    expect(rowOf({ externalId: 0 })?.row.externalId).toBe('0');
  });

  it('leaves blank and unusable details out and cuts the others', () => {
    const company = {
      site: ' ',
      address: { line1: 'x'.repeat(300), city: '', postalCode: 'z'.repeat(100), country: 7, region: null },
      contact: { name: '', email: 'no address', phone: '1'.repeat(100) },
    };
    expect(rowOf(company)?.row).toMatchObject({
      address: { line1: 'x'.repeat(255), postalCode: 'z'.repeat(64), country: '7' },
      contact: { phone: '1'.repeat(64) },
    });
    expect(Object.keys(rowOf(company)?.row ?? {})).not.toContain('site');
    expect(rowOf({ contact: { email: 'kim@acme.example' } })?.row.contact).toEqual({ email: 'kim@acme.example' });
  });

  it.each([
    ['Europe/Vienna', 'Europe/Vienna', null],
    ['W. Europe Standard Time', 'Europe/Berlin', null],
    ['Our own zone', undefined, 'Our own zone'],
    ['', undefined, null],
    [null, undefined, null],
  ])('maps the time zone %j, and reports one that is unknown', (timezone, zone, unknown) => {
    const read = rowOf({ timezone });
    expect([read?.row.timezone, read?.unknownTimezone]).toEqual([zone, unknown]);
  });
});
