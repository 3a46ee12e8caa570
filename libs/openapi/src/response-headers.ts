import type { OpenApiOperation } from './openapi-documents.service.js';

const text = { type: 'string' as const };
const integer = { type: 'integer' as const };

/** The headers of responses that operations refer to, by name. @see docs/reference/requests.md */
const HEADERS = {
  'X-Request-Id': { description: 'Id of the request, for the support; yours when you sent a valid one', schema: text },
  ETag: { description: 'Entity tag of the record, for `If-None-Match` and `If-Match`', schema: text },
  'Retry-After': { description: 'Seconds until the request may be sent again', schema: integer },
  'X-RateLimit-Limit': { description: 'Requests of the key per hour; only for keys', schema: integer },
  'X-RateLimit-Remaining': { description: 'Requests that the key has left; only for keys', schema: integer },
  'X-RateLimit-Reset': { description: 'Unix time when the key has requests again; only for keys', schema: integer },
  'Idempotency-Replayed': { description: '`true` when the response is that of the first request', schema: text },
} as const;

export type HeaderName = keyof typeof HEADERS;

/** Returns the headers as `components.headers`. */
export const headerComponents = (): Record<string, object> =>
  Object.fromEntries(Object.entries(HEADERS).map(([name, header]) => [componentOf(name), header]));

export const headerRef = (name: HeaderName): { $ref: string } => ({
  $ref: `#/components/headers/${componentOf(name)}`,
});

/** Adds a header to a response of an operation, unless it describes the header itself. */
export function addResponseHeader(operation: OpenApiOperation, status: string, name: HeaderName): void {
  const response = operation.responses[status];
  if (response === undefined || '$ref' in response) return;
  response.headers = { [name]: headerRef(name), ...response.headers };
}

const componentOf = (name: string): string => name.replaceAll('-', '');
