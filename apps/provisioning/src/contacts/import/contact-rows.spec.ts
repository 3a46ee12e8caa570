import { parseContactRows } from './contact-rows.js';

const problemsOf = async (...rows: unknown[]) => Object.keys((await parseContactRows(rows)).problems);

describe('parseContactRows', () => {
  it('reads blanks as absent, and drops names and numbers without use', async () => {
    const { rows, problems } = await parseContactRows([
      { organization: ' Acme ', name: ' Kim  Berg ', email: ' KIM@acme.example', phone: '-', roles: ['Billing', ' '] },
    ]);
    expect(problems).toEqual({});
    expect(rows[0]).toMatchObject({
      organization: 'Acme',
      organizationId: null,
      name: 'Kim  Berg',
      nameKey: 'kim berg',
      email: 'kim@acme.example',
      phone: null,
      roles: ['billing'],
      externalSystem: 'csv',
      refusal: null,
    });
  });

  it('refuses malformed rows by their path', async () => {
    expect(
      await problemsOf(
        { name: 'Kim' },
        { organization: 'A' },
        { organization: 'A', name: ' ', email: '', phone: null },
        5,
        { organization: 'A', email: 'nonsense' },
        { organizationId: 'x', name: 'Kim' },
        { organization: 'A', name: 5 },
        { organization: 'A', name: 'K', roles: 'billing' },
        { organization: 'A', name: 'K', roles: [1] },
        { organization: 'A', name: 'K', title: 'x'.repeat(256), expectedAnnotation: 'x', expectedContactId: '1' },
      ),
    ).toEqual([
      'rows.0.organization',
      'rows.1.name',
      'rows.2.name',
      'rows.3',
      'rows.4.email',
      'rows.5.organizationId',
      'rows.6.name',
      'rows.7.roles',
      'rows.8.roles',
      'rows.9.title',
      'rows.9.expectedAnnotation',
      'rows.9.expectedContactId',
    ]);
  });

  it('reports unknown columns and keeps their rows', async () => {
    const { warnings } = await parseContactRows([{ organization: 'A', name: 'K', fax: '1' }]);
    expect(warnings).toEqual([{ code: 'unknown-column', column: 'fax', rows: [0] }]);
  });
});
