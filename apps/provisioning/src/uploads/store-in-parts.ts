import type { Readable } from 'node:stream';

const PART_BYTES = 256 * 1024;

/**
 * Stores a file in numbered parts while it arrives: no more than one part, of 256 KiB and a chunk at most, is in memory.
 * @returns the number of bytes
 */
export async function storeInParts(
  file: Readable,
  insert: (part: number, bytes: Buffer) => Promise<void>,
): Promise<number> {
  let bytes = 0;
  let part = 0;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  const flush = async () => {
    if (pendingBytes === 0) return;
    await insert(part, Buffer.concat(pending));
    [part, pending, pendingBytes] = [part + 1, [], 0];
  };
  for await (const chunk of file as AsyncIterable<Buffer>) {
    pending.push(chunk);
    pendingBytes += chunk.length;
    bytes += chunk.length;
    if (pendingBytes >= PART_BYTES) await flush();
  }
  await flush();
  return bytes;
}
