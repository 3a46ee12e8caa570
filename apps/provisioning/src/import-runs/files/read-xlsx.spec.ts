import ExcelJS from 'exceljs';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { zipArchive } from '../../../test/zip-archive.js';
import { readXlsx } from './read-xlsx.js';

const SHEET = 'xl/worksheets/sheet1.xml';
const TEXTS = 'xl/sharedStrings.xml';
const row = (cell: string) => `<worksheet><sheetData><row r="1">${cell}</row></sheetData></worksheet>`;
const inline = (text: string) => row(`<c r="A1" t="inlineStr"><is><t>${text}</t></is></c>`);
const shared = row('<c r="A1" t="s"><v>0</v></c>');
const table = (text: string) => `<sst><si><t>${text}</t></si></sst>`;
const doctype = '<!DOCTYPE x [<!ENTITY a "b">]>';

const opened = (file: Buffer) =>
  async function* () {
    for (let at = 0; at < file.length; at += 1_000) yield file.subarray(at, at + 1_000);
  };
async function cellsOf(file: Buffer): Promise<string[][]> {
  const rows: string[][] = [];
  for await (const { cells } of readXlsx(opened(file))) rows.push(cells);
  return rows;
}

describe('readXlsx', () => {
  describe('an archive whose local headers differ from its central directory', () => {
    const hidden = { isHidden: true };
    it.each<[string, Buffer]>([
      [
        'a worksheet that is not listed',
        zipArchive({ name: SHEET, content: inline('no'), ...hidden }, { name: SHEET, content: inline('yes') }),
      ],
      [
        'shared texts that are not listed',
        zipArchive(
          { name: TEXTS, content: table('yes') },
          { name: TEXTS, content: table('no'), ...hidden },
          { name: SHEET, content: shared },
        ),
      ],
      [
        'a document type in a part that is not listed',
        zipArchive(
          { name: TEXTS, content: table('yes') },
          { name: TEXTS, content: doctype + table('no'), ...hidden },
          { name: SHEET, content: shared },
        ),
      ],
      [
        'another name of the worksheet',
        zipArchive({ name: SHEET, content: inline('yes'), local: { name: 'xl/media/image1.png' } }),
      ],
      [
        'shared texts under another name',
        zipArchive(
          { name: TEXTS, content: table('yes') },
          { name: 'xl/media/image1.png', content: table('no'), local: { name: TEXTS } },
          { name: SHEET, content: shared },
        ),
      ],
      ['another method', zipArchive({ name: SHEET, content: inline('yes'), local: { method: 0 } })],
      ['a smaller size', zipArchive({ name: SHEET, content: inline('yes'), local: { packedBytes: 9 } })],
      ['a larger size', zipArchive({ name: SHEET, content: inline('yes'), local: { packedBytes: 4_000 } })],
    ])('is read by the directory: %s', async (_, file) => {
      expect(await cellsOf(file)).toEqual([['yes']]);
    });
  });

  describe('files of different writers', () => {
    const parts = [
      { name: '[Content_Types].xml', content: '<Types/>' },
      { name: '_rels/.rels', content: '<Relationships/>' },
      { name: 'xl/workbook.xml', content: '<workbook><workbookPr/></workbook>' },
      { name: 'xl/_rels/workbook.xml.rels', content: '<Relationships/>' },
      { name: SHEET, content: shared },
      { name: TEXTS, content: table('yes') },
    ];
    const streamed = async (useSharedStrings: boolean) => {
      const stream = new PassThrough();
      const file = buffer(stream);
      const workbook = new ExcelJS.stream.xlsx.WorkbookWriter({ stream, useSharedStrings });
      workbook.addWorksheet('x').addRow(['yes']).commit();
      workbook.addWorksheet('y').addRow(['no']).commit();
      await workbook.commit();
      return file;
    };
    it.each<[string, () => Buffer | Promise<Buffer>]>([
      ['a worksheet before the shared texts', () => zipArchive(...parts)],
      ['a worksheet after the shared texts', () => zipArchive(...parts.toReversed())],
      ['stored parts', () => zipArchive(...parts.map((part) => ({ ...part, isStored: true })))],
      ['sizes after the content', () => zipArchive(...parts.map((part) => ({ ...part, hasDescriptor: true })))],
      ['byte order marks', () => zipArchive(...parts.map((part) => ({ ...part, content: `\uFEFF${part.content}` })))],
      ['ZIP64', () => zipArchive(...parts.map((part) => ({ ...part, isZip64: true })))],
      ['a stream with shared texts', () => streamed(true)],
      ['a stream with texts in cells', () => streamed(false)],
    ])('are read: %s', async (_, file) => {
      expect(await cellsOf(await file())).toEqual([['yes']]);
    });
  });

  it('reads shared texts without their formats', async () => {
    const rich = '<sst><si><r><rPr><b/></rPr><t>ye</t></r><r><t>s</t></r></si><si/></sst>';
    const cells = row('<c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c>');
    expect(await cellsOf(zipArchive({ name: TEXTS, content: rich }, { name: SHEET, content: cells }))).toEqual([
      ['yes', '', ''],
    ]);
  });

  describe('texts', () => {
    const [name, reading] = ['<t>name</t>', '<rPh sb="0" eb="1"><t>reading</t></rPh><phoneticPr fontId="1"/>'];
    const runs = '<r><rPr><b/></rPr><t>full </t></r><r><t xml:space="preserve">name</t></r>';
    it.each<[string, string, string]>([
      ['without a phonetic reading', `${name}${reading}`, 'name'],
      ['of several runs', runs, 'full name'],
      ['of several runs without their phonetic reading', `${runs}${reading}`, 'full name'],
      ['with a reading before the text', `${reading}${name}`, 'name'],
      ['without the white space between elements', `\n  ${name}\n`, 'name'],
      ['with their entities decoded once', '<t>A &amp;amp; B &#x26; C</t>', 'A &amp; B & C'],
    ])('are read %s, in the table of texts and in cells', async (_, content, expected) => {
      const inTable = [
        { name: TEXTS, content: `<sst><si>${content}</si></sst>` },
        { name: SHEET, content: shared },
      ];
      const inCell = { name: SHEET, content: row(`<c r="A1" t="inlineStr"><is>${content}</is></c>`) };
      expect(await cellsOf(zipArchive(...inTable))).toEqual([[expected]]);
      expect(await cellsOf(zipArchive(inCell))).toEqual([[expected]]);
    });

    it('of one cell are read up to the character after the limit', async () => {
      const run = `<r><t>${'x'.repeat(9_000)}</t></r>`;
      const cell = `<c r="A1" t="inlineStr"><is>${run}${run}</is></c>`;
      const [[text]] = await cellsOf(zipArchive({ name: SHEET, content: row(cell) }));
      expect(text).toHaveLength(10_001);
    });
  });

  it.each<[string, string, string[]]>([
    ['an error', '<c r="A1" t="e"><v>#N/A</v></c><c r="B1"><v>1</v></c>', ['', '1']],
    ['a formula with an error', '<c r="A1" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="B1"><v>1</v></c>', ['', '1']],
    ['a formula with a text', '<c r="A1" t="str"><f>T("x")</f><v>x</v></c>', ['x']],
    ['a formula with a truth value', '<c r="A1" t="b"><f>1=1</f><v>1</v></c>', ['true']],
    ['a date as text', '<c r="A1" t="d"><v>2026-01-02T00:00:00Z</v></c>', ['2026-01-02T00:00:00Z']],
    ['a number without a value', '<c r="A1"><v></v></c><c r="B1"><v>1.50</v></c>', ['', '1.5']],
    ['a text that the table lacks', '<c r="A1" t="s"><v>9</v></c><c r="B1"><v>1</v></c>', ['', '1']],
    ['cells without a reference', '<c><v>1</v></c><c r="C1"><v>3</v></c><c><v>4</v></c>', ['1', '', '3', '4']],
  ])('reads %s', async (_, cells, expected) => {
    expect(await cellsOf(zipArchive({ name: SHEET, content: row(cells) }))).toEqual([expected]);
  });

  it('reads elements with a prefix, and rows without a number by their order', async () => {
    const content =
      '<x:worksheet xmlns:x="urn:sheet"><x:sheetData><x:row r="4"><x:c><x:v>1</x:v></x:c></x:row><x:row><x:c><x:v>2</x:v></x:c></x:row></x:sheetData></x:worksheet>';
    const rows: object[] = [];
    for await (const each of readXlsx(opened(zipArchive({ name: SHEET, content })))) rows.push(each);
    expect(rows).toEqual([
      { line: 4, cells: ['1'] },
      { line: 5, cells: ['2'] },
    ]);
  });

  describe('a part that ends early', () => {
    const whole = `<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="2"><c r="A2"><v>2</v></c></row></sheetData></worksheet>`;
    const upTo = (tag: string) => whole.slice(0, whole.indexOf(tag) + tag.length);
    const refused = { code: 'import_file_malformed', message: 'A part of the XLSX file ends early' };
    it.each<[string, string]>([
      ['between two rows', upTo('</row>')],
      ['in a row', upTo('<row r="2">')],
      ['in the name of an element', upTo('</row><ro')],
      ['after the rows', upTo('</sheetData>')],
      ['before its content', ''],
    ])('is refused: a worksheet %s', async (_, content) => {
      await expect(cellsOf(zipArchive({ name: SHEET, content }))).rejects.toMatchObject(refused);
    });

    it('is refused: the table of texts', async () => {
      const content = '<sst><si><t>yes</t></si>';
      const file = zipArchive({ name: TEXTS, content }, { name: SHEET, content: shared });
      await expect(cellsOf(file)).rejects.toMatchObject(refused);
    });
  });

  it('reads characters of several bytes wherever the content is divided', async () => {
    const text = '€'.repeat(100_000);
    const file = zipArchive({ name: TEXTS, content: table(text), isStored: true }, { name: SHEET, content: shared });
    expect(await cellsOf(file)).toEqual([[text]]);
  });

  it.each<[string, string, () => Buffer]>([
    [
      'a part that goes on after its content',
      'import_file_malformed',
      () => zipArchive({ name: 'xl/workbook.xml', content: '<workbook/>', trailing: Buffer.alloc(200_000, 1) }),
    ],
    ['a part cut short', 'import_file_malformed', () => cutShort(zipArchive({ name: SHEET, content: inline('x') }))],
    [
      'a worksheet that is not XML',
      'import_file_malformed',
      () => zipArchive({ name: SHEET, content: '<worksheet></sheet>' }),
    ],
    [
      'styles that would fill the memory',
      'import_file_too_large',
      () => zipArchive({ name: 'xl/styles.xml', content: tags(5), isStored: true }),
    ],
    [
      'shared texts that would fill the memory, whatever the case of their name',
      'import_file_too_large',
      () => zipArchive({ name: 'xl/SHAREDSTRINGS.xml', content: tags(65), isStored: true }),
    ],
    [
      'one text that would fill the memory',
      'import_file_too_large',
      () => zipArchive({ name: SHEET, content: inline('x'.repeat(1_200_000)), isStored: true }),
    ],
    ['more parts than are allowed', 'import_file_too_large', () => zipArchive(...emptyParts(1_001))],
  ])('refuses %s', async (_, code, file) => {
    await expect(cellsOf(file())).rejects.toMatchObject({ code });
  });

  describe('the folder of temporary files', () => {
    // The library names its files after the process.
    const temporaryFiles = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`tmp-${process.pid}-`));
    const rows = Array.from({ length: 20_000 }, (_, n) => `<row r="${n + 1}"><c r="A${n + 1}"><v>1</v></c></row>`);
    const worksheet = `<worksheet><sheetData>${rows.join('')}`;
    const files = {
      valid: zipArchive({ name: SHEET, content: `${worksheet}</sheetData></worksheet>` }),
      broken: zipArchive({ name: SHEET, content: `${worksheet}</wrong>` }),
    };

    it('stays empty while a file is read and when its reader stops early', async () => {
      let last = 0;
      for await (const { line } of readXlsx(opened(files.valid))) {
        expect(temporaryFiles()).toEqual([]);
        last = line;
        if (line === 3) break;
      }
      expect(last).toBe(3);
      expect(temporaryFiles()).toEqual([]);
    });

    it('stays empty after a whole file', async () => {
      expect(await cellsOf(files.valid)).toHaveLength(20_000);
      expect(temporaryFiles()).toEqual([]);
    });

    it('stays empty after a file that is broken', async () => {
      await expect(cellsOf(files.broken)).rejects.toMatchObject({ code: 'import_file_malformed' });
      expect(temporaryFiles()).toEqual([]);
    });
  });
});

/** Returns an archive whose last part is said to be longer than the file. */
function cutShort(file: Buffer): Buffer {
  const entryAt = file.indexOf(Buffer.from('504b0102', 'hex'));
  file.writeUInt32LE(file.length, entryAt + 20);
  return file;
}

const tags = (megabytes: number): Buffer => Buffer.alloc(megabytes * 1024 * 1024, '<a/>');

const emptyParts = (count: number) => Array.from({ length: count }, (_, n) => ({ name: `${n}.xml`, content: '' }));
