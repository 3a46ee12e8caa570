import type { OpenAPIObject } from '@nestjs/swagger';
import { STATUS_CODES } from 'node:http';
import { ERROR_BODY_REF } from './error-body.schema.js';
import type { OpenApiOperation } from './openapi-documents.service.js';
import { addResponseHeader, headerRef, type HeaderName } from './response-headers.js';

type Responses = Record<string, object>;

const SCIM_MEDIA_TYPE = 'application/scim+json';
/** Statuses whose responses say when to try again. */
const RETRIED = ['429', '503'];

/**
 * Declares a response for each status of `x-error-codes` of an operation. The codes are in its description, the rest is
 * shared in `components.responses`.
 */
export function declareErrorResponses(document: OpenAPIObject, operation: OpenApiOperation): void {
  const shared = ((document.components ??= {}).responses ??= {}) as Responses;
  const responses = operation.responses as Responses;
  const isScim = Object.values(responses).some((response) => SCIM_MEDIA_TYPE in contentOf(response));
  for (const [status, codes] of Object.entries((operation['x-error-codes'] ?? {}) as Record<string, string[]>)) {
    if (status in responses) continue;
    const description = codes.map((code) => `\`${code}\``).join(', ');
    if (isScim) {
      responses[status] = { ...errorResponse(status, SCIM_MEDIA_TYPE), description };
      continue;
    }
    const name = (STATUS_CODES[status] ?? `Error ${status}`).replace(/\W/g, '');
    shared[name] ??= errorResponse(status, 'application/json');
    responses[status] = { $ref: `#/components/responses/${name}`, description };
  }
  for (const status of Object.keys(responses)) {
    if (/^[23]/.test(status)) addResponseHeader(operation, status, 'X-Request-Id');
  }
}

function errorResponse(status: string, mediaType: string): object {
  const names: HeaderName[] = ['X-Request-Id', ...(RETRIED.includes(status) ? (['Retry-After'] as const) : [])];
  return {
    description: STATUS_CODES[status] ?? status,
    headers: Object.fromEntries(names.map((name) => [name, headerRef(name)])),
    content: { [mediaType]: { schema: ERROR_BODY_REF } },
  };
}

const contentOf = (response: object): object => ('content' in response ? (response.content as object) : {});
