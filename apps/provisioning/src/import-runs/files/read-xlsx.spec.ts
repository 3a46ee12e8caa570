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
