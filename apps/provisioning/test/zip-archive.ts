import { deflateRawSync } from 'node:zlib';

/** One entry of an archive, and in what its local header differs from the central directory. */
interface ArchiveEntry {
  name: string;
  content: Buffer | string;
  isStored?: boolean;
  /** Not in the central directory. */
  isHidden?: boolean;
  /** The local header has no sizes; they follow the content. */
  hasDescriptor?: boolean;
  /** Sizes and offset are in the ZIP64 fields. */
  isZip64?: boolean;
  /** Bytes that follow the end of the deflated content. */
  trailing?: Buffer;
  local?: { name?: string; method?: number; packedBytes?: number };
}

/** Returns a ZIP archive of the entries, in their order. */
export function zipArchive(...entries: ArchiveEntry[]): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const packed = pack(entry);
    const body = localPart(entry, packed);
    if (!entry.isHidden) directory.push(centralPart(entry, packed.length, offset));
    bodies.push(body);
    offset += body.length;
  }
  const central = Buffer.concat(directory);
  const zip64 = entries.some(({ isZip64 }) => isZip64) ? zip64End(directory.length, central.length, offset) : [];
  const end = record(0x06054b50, [
    [2, 0],
    [2, 0], // disks
    [2, zip64.length > 0 ? 0xffff : directory.length],
    [2, zip64.length > 0 ? 0xffff : directory.length],
    [4, central.length],
    [4, zip64.length > 0 ? 0xffffffff : offset],
    [2, 0],
  ]);
  return Buffer.concat([...bodies, central, ...zip64, end]);
}

function pack({ content, isStored, trailing }: ArchiveEntry): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([isStored ? bytes : deflateRawSync(bytes), trailing ?? Buffer.alloc(0)]);
}

function localPart({ name, isStored, hasDescriptor, local, content }: ArchiveEntry, packed: Buffer): Buffer {
  const size = Buffer.byteLength(content);
  const localName = Buffer.from(local?.name ?? name);
  const header = record(0x04034b50, [
    [2, 20],
    [2, hasDescriptor ? 8 : 0],
    [2, local?.method ?? methodOf(isStored)],
    [4, 0],
    [4, 0], // time, checksum
    [4, hasDescriptor ? 0 : (local?.packedBytes ?? packed.length)],
    [4, hasDescriptor ? 0 : size],
    [2, localName.length],
    [2, 0],
  ]);
  const descriptor = record(0x08074b50, [
    [4, 0],
    [4, packed.length],
    [4, size],
  ]);
  return Buffer.concat([header, localName, packed, ...(hasDescriptor ? [descriptor] : [])]);
}

function centralPart(entry: ArchiveEntry, packedBytes: number, offset: number): Buffer {
  const { name, isStored, hasDescriptor, isZip64, content } = entry;
  const size = Buffer.byteLength(content);
  const extra = isZip64 ? zip64Field(size, packedBytes, offset) : Buffer.alloc(0);
  const header = record(0x02014b50, [
    [2, 20],
    [2, 20],
    [2, hasDescriptor ? 8 : 0],
    [2, methodOf(isStored)],
    [4, 0],
    [4, 0], // time, checksum
    [4, isZip64 ? 0xffffffff : packedBytes],
    [4, isZip64 ? 0xffffffff : size],
    [2, Buffer.byteLength(name)],
    [2, extra.length],
    [2, 0],
    [2, 0],
    [2, 0],
    [4, 0], // comment, disk, attributes
    [4, isZip64 ? 0xffffffff : offset],
  ]);
  return Buffer.concat([header, Buffer.from(name), extra]);
}

const methodOf = (isStored = false): number => (isStored ? 0 : 8);

/** The ZIP64 field of an entry, after a field of another kind. */
function zip64Field(size: number, packedBytes: number, offset: number): Buffer {
  const other = Buffer.from([0x55, 0x54, 1, 0, 0]);
  return Buffer.concat([
    other,
    record(0x00180001, [
      [8, size],
      [8, packedBytes],
      [8, offset],
    ]),
  ]);
}

/** The ZIP64 end record and its locator. */
function zip64End(count: number, directoryBytes: number, directoryAt: number): Buffer[] {
  const numbers: [number, number][] = [
    [8, 44],
    [2, 45],
    [2, 45],
    [4, 0],
    [4, 0],
  ];
  const end = record(0x06064b50, [...numbers, [8, count], [8, count], [8, directoryBytes], [8, directoryAt]]);
  return [
    end,
    record(0x07064b50, [
      [4, 0],
      [8, directoryAt + directoryBytes],
      [4, 1],
    ]),
  ];
}

/** A signature and numbers by their bytes. */
function record(signature: number, numbers: readonly (readonly [bytes: number, value: number])[]): Buffer {
  const parts = numbers.map(([bytes, value]) => {
    const part = Buffer.alloc(bytes);
    part.writeUIntLE(value, 0, Math.min(bytes, 6));
    return part;
  });
  const start = Buffer.alloc(4);
  start.writeUInt32LE(signature);
  return Buffer.concat([start, ...parts]);
}
