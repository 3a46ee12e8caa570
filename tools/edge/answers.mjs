import { randomUUID } from 'node:crypto';

const SECURITY_HEADERS = {
  'x-frame-options': 'DENY',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'content-security-policy': "default-src 'self'",
  'x-content-type-options': 'nosniff',
};

/** The request id a caller sent, if it is a good one, else a new one. */
export function requestIdOf(request) {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : randomUUID();
}

/** Sends an answer of the edge itself. */
export function sendJson(response, status, body, headers = {}) {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...SECURITY_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/** Sends the error body every service sends. */
export function sendError(response, requestId, { status, code, error, message = error, headers = {} }) {
  sendJson(response, status, { error, message, code, requestId }, { 'x-request-id': requestId, ...headers });
}

export const NOT_FOUND = {
  status: 404,
  code: 'not_found',
  error: 'Not Found',
  message: 'No service answers this path.',
};

export const UNAVAILABLE = {
  status: 503,
  code: 'service_unavailable',
  error: 'Service temporarily unavailable',
  headers: { 'retry-after': '1' },
};
