import { AUDIT_FILES, formatCsv } from './audit-file.js';
import type { AuditLogDto } from './dto/audit-log.dto.js';

const formatCell = (value: unknown) => formatCsv([[value, 'end']]).replace(/,end\r\n$/, '');

describe('formatCsv', () => {
  it.each([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\r\nlines', '"two\r\nlines"'],
    ['two\nlines', '"two\nlines"'],
    [null, ''],
    [7, '7'],
    [{ a: [1, 'x'] }, '"{""a"":[1,""x""]}"'],
  ])('formats %j by RFC 4180', (value, text) => {
    expect(formatCell(value)).toBe(text);
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '＝1', '＋1', '－1', '＠x'])('escapes the formula %j', (value) => {
    expect(formatCell(value)).toBe(`'${value}`);
  });

  it.each(['\r=1', '\n=1'])('escapes and quotes the formula %j', (value) => {
    expect(formatCell(value)).toBe(`"'${value}"`);
  });

  it('escapes a formula that needs quotes', () => {
    expect(formatCell('=HYPERLINK("https://evil.test","x")')).toBe(`"'=HYPERLINK(""https://evil.test"",""x"")"`);
  });
});

describe('AUDIT_FILES', () => {
  const entry = { id: 'a', sequence: 1, resourceName: 'Müller & Söhne', details: { n: 1 } } as unknown as AuditLogDto;

  it('formats an entry with as many cells as the header', () => {
    const { header, format } = AUDIT_FILES.csv;
    expect(header).toMatch(/^id,sequence,partnerId,.*,previousChecksum\r\n$/);
    expect(format([entry]).split(',')).toHaveLength(header.split(',').length);
  });

  it('formats an entry as one line of JSON', () => {
    const text = AUDIT_FILES.ndjson.format([{ ...entry, userAgent: 'two\nlines' }]);
    expect(text.match(/\n/g)).toHaveLength(1);
    expect(JSON.parse(text)).toMatchObject({ id: 'a', userAgent: 'two\nlines' });
  });
});
