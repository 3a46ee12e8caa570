import type { OpenApiOperation } from './openapi-documents.js';

/** CONTRACT.md 1.4 as a schema. */
export const ERROR_BODY_SCHEMA = {
  type: 'object',
  required: ['error', 'message', 'code', 'requestId'],
  additionalProperties: true,
  properties: {
    error: { type: 'string', description: 'Short English text' },
    message: { type: 'string', description: 'A sentence for people' },
    code: { type: 'string', description: 'snake_case; branch on this and the status, never on a text' },
    details: {
      type: 'object',
      description: 'Only with 400 validation_failed',
      properties: {
        fieldErrors: {
          type: 'object',
          additionalProperties: { type: 'array', items: { type: 'string' } },
        },
      },
    },
    requestId: { type: 'string', description: 'As in the header X-Request-Id' },
    retryAfter: { type: 'integer', description: 'With 429: seconds, as in the header Retry-After' },
  },
};

/** Every operation may answer with the error body. */
export function addErrors(operation: OpenApiOperation): void {
  operation.responses['default'] ??= {
    description: 'Any error',
    headers: { 'X-Request-Id': { schema: { type: 'string' } } },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } } },
  };
}
