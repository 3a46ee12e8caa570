import type { Socket } from 'node:net';

/** The beginning of `HTTP/1.1 100 Continue` and of every other interim response. */
const INTERIM = Buffer.from('HTTP/1.1 1');
const SWITCHING_PROTOCOLS = Buffer.from('HTTP/1.1 101');
const HEAD_END = Buffer.from('\r\n\r\n');
/** A longer interim response is passed on, and fails like any head that is too large. */
const MAX_HEAD_BYTES = 16 * 1024;

/**
 * Removes interim responses (1xx except 101) from what a socket reads before a final response. undici closes the
 * connection on a `100 Continue` that it did not ask for, while RFC 9110, section 15.2, has clients accept it.
 * Replaces `read`, by which undici takes the bytes, and `write`, after which a response begins.
 */
export function skipInterimResponses(socket: Socket): Socket {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let isHeadExpected = false;
  let incomplete: Buffer | null = null;

  const skip = (chunk: Buffer): Buffer | null => {
    let rest = incomplete ? Buffer.concat([incomplete, chunk]) : chunk;
    incomplete = null;
    while (rest.length > 0) {
      const end = isInterim(rest) ? rest.indexOf(HEAD_END) : null;
      if (end === null || (end === -1 && rest.length > MAX_HEAD_BYTES)) {
        isHeadExpected = false;
        return rest;
      }
      if (end === -1) {
        incomplete = rest;
        return null;
      }
      rest = rest.subarray(end + HEAD_END.length);
    }
    return null;
  };

  socket.write = (...args: unknown[]) => {
    isHeadExpected = true;
    return write(...args);
  };
  socket.read = (size?: number) => {
    const chunk = read(size);
    return chunk !== null && isHeadExpected ? skip(chunk) : chunk;
  };
  return socket;
}

/** Returns whether an interim response begins here; also when there are too few bytes to know. */
function isInterim(bytes: Buffer): boolean {
  if (bytes.length < INTERIM.length) return startsWith(INTERIM, bytes);
  return startsWith(bytes, INTERIM) && !startsWith(bytes, SWITCHING_PROTOCOLS);
}

const startsWith = (bytes: Buffer, start: Buffer): boolean =>
  bytes.length >= start.length && bytes.compare(start, 0, start.length, 0, start.length) === 0;
