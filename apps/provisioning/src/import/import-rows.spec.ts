import { parseImportRows } from './import-rows.js';

describe('parseImportRows', () => {
  it('reads blanks as absent and uses the default system', async () => {
    const { rows, problems } = await parseImportRows([
      { organization: '  Acme ', site: '', externalId: ' 7 ', timezone: null, address: '', contact: {} },
    ]);
    expect(problems).toEqual({});
    expect(rows[0]).toMatchObject({
      index: 0,
      organization: 'Acme',
      site: null,
      externalId: '7',
      externalSystem: 'csv',
      timezone: null,
      address: null,
      contact: null,
      reactivate: false,
    });
  });

  it('reports every problem by its path', async () => {
    const { problems } = await parseImportRows([
      { organization: '' },
      'Acme',
      { organization: 'x'.repeat(256), timezone: 'Mars/Olympus', contact: { email: 'invalid' } },
      { organization: 'A\u0007b', site: 5, reactivate: 'yes', expectedAnnotation: 'new', expectedOrganizationId: '1' },
      { organization: 'A', externalId: 'x'.repeat(256), externalSystem: 'x'.repeat(65), address: [] },
    ]);
    expect(Object.keys(problems)).toEqual([
      'rows.0.organization',
      'rows.1',
      'rows.2.organization',
      'rows.2.timezone',
      'rows.2.contact.email',
      'rows.3.organization',
      'rows.3.site',
      'rows.3.expectedAnnotation',
      'rows.3.expectedOrganizationId',
      'rows.3.reactivate',
      'rows.4.externalId',
      'rows.4.externalSystem',
      'rows.4.address',
    ]);
  });

  it('refuses half of a surrogate pair', async () => {
    const { problems } = await parseImportRows([
      { organization: 'a\ud800b', site: '😀', contact: { name: '\udc00' }, address: { line1: 'x\ud83d' } },
    ]);
    expect(Object.keys(problems)).toEqual(['rows.0.organization', 'rows.0.address.line1', 'rows.0.contact.name']);
  });

  it('ignores unknown columns and reports their rows', async () => {
    const { rows, warnings, problems } = await parseImportRows([
      { organization: 'A', phone: '1' },
      { organization: 'B' },
      { organization: 'C', phone: '2', ['__proto__x']: 1 },
    ]);
    expect(rows).toHaveLength(3);
    expect(problems).toEqual({});
    expect(warnings).toContainEqual({ code: 'unknown-column', column: 'phone', rows: [0, 2] });
  });

  it.each(['+01:00', 'GMT+25', '../etc', 'Europe'])('refuses %s as a time zone', async (timezone) => {
    expect(Object.keys((await parseImportRows([{ organization: 'A', timezone }])).problems)).toEqual([
      'rows.0.timezone',
    ]);
  });
});
