import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const HEADERS = {
  'x-frame-options': 'DENY',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'content-security-policy': "default-src 'self'",
  'x-content-type-options': 'nosniff',
};
const LINK_TEXT = `This link belongs to the web application, which is not part of this project.
Send the token of the address to the API: POST /api/v1/auth/accept-invite, verify-email or reset-password. See /docs.
`;

/** Returns the request id of the caller when it is valid, else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : randomUUID();
}

export function sendJson(response: ServerResponse, status: number, body: object, headers = {}): void {
  const text = JSON.stringify(body);
  const type = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, { ...HEADERS, ...type, ...headers }).end(text);
}

/** Sends the body that every service sends for an unknown path. */
export function sendNotFound(response: ServerResponse, requestId: string): void {
  const body = { error: 'Not Found', message: 'No service has this path.', code: 'not_found', requestId };
  sendJson(response, 404, body, { 'x-request-id': requestId });
}

/** Reports that no instance could be reached. */
export function sendUnavailable(response: ServerResponse, requestId: string): void {
  const error = 'Service temporarily unavailable';
  const headers = { 'x-request-id': requestId, 'retry-after': '1' };
  sendJson(response, 503, { error, message: error, code: 'service_unavailable', requestId }, headers);
}

/** Explains a link of a mail that was opened in a browser. */
export function sendLinkText(response: ServerResponse): void {
  response.writeHead(404, { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' }).end(LINK_TEXT);
}
