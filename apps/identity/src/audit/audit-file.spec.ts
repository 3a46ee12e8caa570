import { AUDIT_FILES, csvCell } from './audit-file.js';
import type { AuditLogDto } from './audit-log.dto.js';

describe('a cell of the exported table', () => {
  it.each([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\r\nlines', '"two\r\nlines"'],
    [null, ''],
    [7, '7'],
    [{ a: [1, 'x'] }, '"{""a"":[1,""x""]}"'],
  ])('writes %j by RFC 4180', (value, text) => {
    expect(csvCell(value)).toBe(text);
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '＝1', '＋1', '－1', '＠x'])(
    'takes the meaning from %j',
    (value) => {
      expect(csvCell(value)).toBe(`'${value}`);
    },
  );

  it.each(['\r=1', '\n=1'])('takes the meaning from %j and quotes it', (value) => {
    expect(csvCell(value)).toBe(`"'${value}"`);
  });

  it('takes the meaning from a formula that needs quotes', () => {
    expect(csvCell('=HYPERLINK("https://evil.test","x")')).toBe(`"'=HYPERLINK(""https://evil.test"",""x"")"`);
  });
});

describe('an exported row', () => {
  const row = { id: 'a', sequence: 1, resourceName: 'Müller & Söhne', details: { n: 1 } } as unknown as AuditLogDto;

  it('has as many cells as the header', () => {
    const { header, line } = AUDIT_FILES.csv;
    expect(header).toMatch(/^id,sequence,partnerId,.*,previousChecksum\r\n$/);
    expect(line(row).split(',')).toHaveLength(header.split(',').length);
  });

  it('is one line of JSON', () => {
    const text = AUDIT_FILES.ndjson.line({ ...row, userAgent: 'two\nlines' });
    expect(text.match(/\n/g)).toHaveLength(1);
    expect(JSON.parse(text)).toMatchObject({ id: 'a', userAgent: 'two\nlines' });
  });
});
