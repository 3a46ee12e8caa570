import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { BadRequestError, type DomainError, HeadersTooLargeError } from '@rmm/errors';
import { toErrorBody } from '../errors/error.filter.js';

/** Responds to a request that the HTTP parser refused, for which there is no response object. */
export function refuseUnparsed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable) return void socket.destroy();
  socket.end(toRawResponse(error.code === 'HPE_HEADER_OVERFLOW' ? new HeadersTooLargeError() : new BadRequestError()));
}

function toRawResponse(error: DomainError): string {
  const requestId = randomUUID();
  const text = JSON.stringify(toErrorBody(error, requestId));
  const headers = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  return [...headers, '', text].join('\r\n');
}
