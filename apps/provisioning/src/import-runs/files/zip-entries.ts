import { Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { ImportRunFailed } from '../import-run.errors.js';
import { ZIP_LIMITS } from './file.limits.js';

const END_SIGNATURE = 0x06054b50;
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50;
const ZIP64_END_SIGNATURE = 0x06064b50;
const ENTRY_SIGNATURE = 0x02014b50;
const LOCAL_SIGNATURE = 0x04034b50;
const END_LENGTH = 22;
const ZIP64_LOCATOR_LENGTH = 20;
const MAX_COMMENT = 65_535;
const ZIP64_FIELD = 1;
const IN_ZIP64_16 = 0xffff;
const IN_ZIP64_32 = 0xffffffff;
const DEFLATED = 8;
const STORED = 0;
const SLICE_BYTES = 65_536;

/** A part of an archive, as the central directory describes it. */
export interface ZipEntry {
  /** In lower case, since names of parts that differ in case alone are equal. */
  name: string;
  isDeflated: boolean;
  packed: Buffer;
}

export const malformedXlsx = () => new ImportRunFailed('import_file_malformed', 'The file is not a valid XLSX file');
export const xlsxTooLarge = () =>
  new ImportRunFailed('import_file_too_large', 'The file unpacks to more than is allowed');

/**
 * Lists the parts in the central directory of an archive. Of local headers only the length is read: their names, methods
 * and sizes, and parts that the directory does not list, are ignored.
 * @throws ImportRunFailed
 */
export function listZipEntries(file: Buffer): ZipEntry[] {
  try {
    return readDirectory(file);
  } catch (error) {
    throw error instanceof RangeError ? malformedXlsx() : error; // an offset beyond the end of the file
  }
}

/** Streams the content of a part. The stream fails when the part is not valid. */
export function unpack({ isDeflated, packed }: ZipEntry): Readable & { bytesWritten?: number } {
  const source = Readable.from(slices(packed), { objectMode: false });
  return isDeflated ? source.pipe(createInflateRaw({ chunkSize: SLICE_BYTES })) : source;
}

function* slices(packed: Buffer): Generator<Buffer> {
  for (let at = 0; at < packed.length; at += SLICE_BYTES) yield packed.subarray(at, at + SLICE_BYTES);
}

function readDirectory(file: Buffer): ZipEntry[] {
  const { count, start } = findDirectory(file);
  if (count > ZIP_LIMITS.entries) throw xlsxTooLarge();
  const entries: ZipEntry[] = [];
  for (let at = start; entries.length < count;) {
    if (file.readUInt32LE(at) !== ENTRY_SIGNATURE) throw malformedXlsx();
    const nameEnd = at + 46 + file.readUInt16LE(at + 28);
    const extraEnd = nameEnd + file.readUInt16LE(at + 30);
    const name = file.toString('utf8', at + 46, nameEnd).toLowerCase();
    const method = file.readUInt16LE(at + 10);
    if (method !== STORED && method !== DEFLATED) throw malformedXlsx();
    entries.push({ name, isDeflated: method === DEFLATED, packed: packedContent(file, at, nameEnd, extraEnd) });
    at = extraEnd + file.readUInt16LE(at + 32);
  }
  return entries;
}

function findDirectory(file: Buffer): { count: number; start: number } {
  const end = findEnd(file);
  const count = file.readUInt16LE(end + 10);
  const start = file.readUInt32LE(end + 16);
  if (count !== IN_ZIP64_16 && start !== IN_ZIP64_32) return { count, start };
  const locator = end - ZIP64_LOCATOR_LENGTH;
  if (file.readUInt32LE(locator) !== ZIP64_LOCATOR_SIGNATURE) throw malformedXlsx();
  const zip64 = readUInt64(file, locator + 8);
  if (file.readUInt32LE(zip64) !== ZIP64_END_SIGNATURE) throw malformedXlsx();
  return { count: readUInt64(file, zip64 + 32), start: readUInt64(file, zip64 + 48) };
}

function findEnd(file: Buffer): number {
  const first = Math.max(0, file.length - END_LENGTH - MAX_COMMENT);
  for (let at = file.length - END_LENGTH; at >= first; at -= 1) {
    if (file.readUInt32LE(at) === END_SIGNATURE) return at;
  }
  throw malformedXlsx();
}

function packedContent(file: Buffer, at: number, extraAt: number, extraEnd: number): Buffer {
  const [, packedBytes, offset] = readSizes(file, at, extraAt, extraEnd);
  if (file.readUInt32LE(offset) !== LOCAL_SIGNATURE) throw malformedXlsx();
  const start = offset + 30 + file.readUInt16LE(offset + 26) + file.readUInt16LE(offset + 28);
  if (start + packedBytes > file.length) throw malformedXlsx();
  return file.subarray(start, start + packedBytes);
}

/** Returns the unpacked size, the packed size and the offset; the ZIP64 field has those that do not fit, in this order. */
function readSizes(file: Buffer, at: number, extraAt: number, extraEnd: number): [number, number, number] {
  let field = findZip64Field(file, extraAt, extraEnd);
  const read = (value: number): number => {
    if (value !== IN_ZIP64_32) return value;
    if (field === null) throw malformedXlsx();
    field += 8;
    return readUInt64(file, field - 8);
  };
  return [read(file.readUInt32LE(at + 24)), read(file.readUInt32LE(at + 20)), read(file.readUInt32LE(at + 42))];
}

function findZip64Field(file: Buffer, extraAt: number, extraEnd: number): number | null {
  for (let at = extraAt; at + 4 <= extraEnd; at += 4 + file.readUInt16LE(at + 2)) {
    if (file.readUInt16LE(at) === ZIP64_FIELD) return at + 4;
  }
  return null;
}

const readUInt64 = (file: Buffer, at: number): number => Number(file.readBigUInt64LE(at));
