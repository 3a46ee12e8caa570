import { pipeline, Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { createInflateRaw } from 'node:zlib';
import { ImportRunFailed } from '../import-run.errors.js';
import { ZIP_LIMITS } from './file-limits.js';

const END_SIGNATURE = 0x06054b50;
const ENTRY_SIGNATURE = 0x02014b50;
const LOCAL_SIGNATURE = 0x04034b50;
const END_LENGTH = 22;
const MAX_COMMENT = 65_535;
const DEFLATED = 8;
const STORED = 0;
const run = promisify(pipeline);

interface ZipEntry {
  name: string;
  method: number;
  packedBytes: number;
  offset: number;
}

const malformed = () => new ImportRunFailed('import_file_malformed', 'The file is not a valid XLSX file');
const tooLarge = () => new ImportRunFailed('import_file_too_large', 'The file unpacks to more than is allowed');

/**
 * Unpacks every part of an XLSX file once, counting, before anything reads it: the sizes that the archive states are not
 * believed. Parts with a document type are refused, since it may declare entities.
 * @throws ImportRunFailed
 */
export async function checkZip(file: Buffer): Promise<void> {
  const entries = readEntries(file);
  if (entries.length > ZIP_LIMITS.entries) throw tooLarge();
  let total = 0;
  for (const entry of entries) {
    total += await measure(file, entry, ZIP_LIMITS.totalBytes - total);
  }
}

function readEntries(file: Buffer): ZipEntry[] {
  const end = findEnd(file);
  const count = file.readUInt16LE(end + 10);
  let at = file.readUInt32LE(end + 16);
  const entries: ZipEntry[] = [];
  for (let i = 0; i < count; i += 1) {
    if (at + 46 > file.length || file.readUInt32LE(at) !== ENTRY_SIGNATURE) throw malformed();
    const nameLength = file.readUInt16LE(at + 28);
    const nameAt = at + 46;
    entries.push({
      name: file.toString('utf8', nameAt, nameAt + nameLength),
      method: file.readUInt16LE(at + 10),
      packedBytes: file.readUInt32LE(at + 20),
      offset: file.readUInt32LE(at + 42),
    });
    at = nameAt + nameLength + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32);
  }
  return entries;
}

function findEnd(file: Buffer): number {
  const first = Math.max(0, file.length - END_LENGTH - MAX_COMMENT);
  for (let at = file.length - END_LENGTH; at >= first; at -= 1) {
    if (file.readUInt32LE(at) === END_SIGNATURE) return at;
  }
  throw malformed();
}

async function measure(file: Buffer, { name, method, packedBytes, offset }: ZipEntry, maxBytes: number) {
  if (offset + 30 > file.length || file.readUInt32LE(offset) !== LOCAL_SIGNATURE) throw malformed();
  const start = offset + 30 + file.readUInt16LE(offset + 26) + file.readUInt16LE(offset + 28);
  if (start + packedBytes > file.length) throw malformed();
  const packed = file.subarray(start, start + packedBytes);
  const limit = name.endsWith('sharedStrings.xml') ? Math.min(maxBytes, ZIP_LIMITS.sharedStringsBytes) : maxBytes;
  let bytes = 0;
  let tail = '';
  const count = new Writable({
    write(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      const isBomb = bytes > ZIP_LIMITS.ratioFromBytes && bytes > packedBytes * ZIP_LIMITS.ratio;
      if (bytes > limit || isBomb) return done(tooLarge());
      const text = tail + chunk.toString('latin1');
      if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) return done(malformed());
      tail = text.slice(-16);
      done();
    },
  });
  try {
    if (method === STORED) await run(Readable.from([packed]), count);
    else if (method === DEFLATED) await run(Readable.from([packed]), createInflateRaw(), count);
    else throw malformed();
  } catch (error) {
    throw error instanceof ImportRunFailed ? error : malformed();
  }
  return bytes;
}
