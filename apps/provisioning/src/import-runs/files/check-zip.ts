import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ImportRunFailed } from '../import-run.errors.js';
import { ZIP_LIMITS } from './file.limits.js';
import { malformedXlsx, unpack, xlsxTooLarge, type ZipEntry } from './zip-entries.js';

/** Parts that are read into memory. */
const MAX_BYTES: ReadonlyMap<string, number> = new Map([
  ['xl/sharedstrings.xml', ZIP_LIMITS.sharedStringsBytes],
  ['xl/styles.xml', ZIP_LIMITS.settingsBytes],
  ['xl/workbook.xml', ZIP_LIMITS.settingsBytes],
]);

/**
 * Unpacks every part of an XLSX file once, counting, before anything reads it: the sizes that the archive states are not
 * believed. Parts with a document type are refused, since it may declare entities.
 * @throws ImportRunFailed
 */
export async function checkZip(entries: readonly ZipEntry[]): Promise<void> {
  let total = 0;
  for (const entry of entries) {
    total += await measure(entry, ZIP_LIMITS.totalBytes - total);
  }
}

async function measure(entry: ZipEntry, maxBytes: number): Promise<number> {
  const packedBytes = entry.packed.length;
  const limit = Math.min(maxBytes, MAX_BYTES.get(entry.name) ?? maxBytes);
  let bytes = 0;
  let tail = '';
  let textBytes = 0;
  const isXml = entry.name.endsWith('.xml');
  const count = new Writable({
    write(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      const isBomb = bytes > ZIP_LIMITS.ratioFromBytes && bytes > packedBytes * ZIP_LIMITS.ratio;
      textBytes = chunk.includes('<') ? chunk.length - chunk.lastIndexOf('<') : textBytes + chunk.length;
      const isLongText = isXml && textBytes > ZIP_LIMITS.textBytes;
      if (bytes > limit || isBomb || isLongText) return done(xlsxTooLarge());
      const text = tail + chunk.toString('latin1');
      if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) return done(malformedXlsx());
      tail = text.slice(-16);
      done();
    },
  });
  const content = unpack(entry);
  try {
    await pipeline(content, count);
  } catch (error) {
    throw error instanceof ImportRunFailed ? error : malformedXlsx();
  }
  // Inflating stops at the end of the content, which may precede the end of the part.
  if ((content.bytesWritten ?? packedBytes) !== packedBytes) throw malformedXlsx();
  return bytes;
}
