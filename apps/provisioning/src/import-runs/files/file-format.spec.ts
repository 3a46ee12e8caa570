import { detectCharset, detectDelimiter, detectFormat } from './file-format.js';

async function* partsOf(...parts: Buffer[]) {
  yield* parts;
}

describe('detectFormat', () => {
  it.each([
    ['csv', Buffer.from('a,b\n')],
    ['csv', Buffer.from([0xff, 0xfe, 0x61, 0x00])],
    ['csv', Buffer.from('organization\nMüller', 'utf16le')],
    ['xlsx', Buffer.from('504b030414', 'hex')],
  ])('finds %s', (format, start) => {
    expect(detectFormat(start)).toBe(format);
  });

  it.each([[Buffer.from([0, 1, 2])], [Buffer.from('d0cf11e0', 'hex')], [Buffer.from('%PDF-1.4\x01')]])(
    'refuses %j',
    (start) => {
      expect(() => detectFormat(start)).toThrow(expect.objectContaining({ code: 'import_file_unsupported' }));
    },
  );
});

describe('detectCharset', () => {
  it.each<[string, Buffer[]]>([
    ['UTF-8', [Buffer.from('\uFEFFa')]],
    ['UTF-16LE', [Buffer.from([0xff, 0xfe, 0x61, 0])]],
    ['UTF-16BE', [Buffer.from([0xfe, 0xff, 0, 0x61])]],
    ['UTF-16LE', [Buffer.from('organization', 'utf16le')]],
    ['UTF-8', [Buffer.from('plain')]],
    ['UTF-8', [Buffer.from('ü').subarray(0, 1), Buffer.from('ü').subarray(1)]],
    ['windows-1252', [Buffer.from('a'), Buffer.from([0xfc])]],
    ['windows-1252', [Buffer.from('ü').subarray(0, 1)]],
  ])('finds %s', async (charset, parts) => {
    const found = await detectCharset(partsOf(...parts));
    expect(found === 'ISO-8859-1' ? 'windows-1252' : found).toBe(charset);
  });
});

describe('detectDelimiter', () => {
  it.each([
    [',', 'a,b,c\n1,2,3\n'],
    [';', 'a;b;c\n1,5;2,5;3\n'],
    ['\t', 'a\tb\n1,2\t3\n'],
    ['|', 'a|b\n'],
    [';', '"x,y,z";b\n"1,2\n,3";4\n'],
    [',', 'organization\nAcme\n'],
  ])('finds %j', (delimiter, text) => {
    expect(detectDelimiter(text)).toBe(delimiter);
  });
});
