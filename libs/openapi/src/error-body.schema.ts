import { headerRef } from './response-headers.js';

/** The schema of the error body. @see docs/reference/errors.md */
export const ERROR_BODY_SCHEMA = {
  type: 'object',
  required: ['error', 'message', 'code', 'requestId'],
  additionalProperties: true,
  properties: {
    error: { type: 'string', description: 'Short English text' },
    message: { type: 'string', description: 'A sentence for users' },
    code: { type: 'string', description: 'snake_case; branch on this and the status, never on a text' },
    details: {
      type: 'object',
      description: 'Only with 400 validation_failed',
      properties: {
        fieldErrors: {
          type: 'object',
          description: 'Problems by the path of the field',
          additionalProperties: { type: 'array', items: { type: 'string' } },
        },
      },
    },
    requestId: { type: 'string', description: 'As in the header X-Request-Id' },
    retryAfter: { type: 'integer', description: 'With 429: seconds, as in the header Retry-After' },
  },
};

export const ERROR_BODY_REF = { $ref: '#/components/schemas/ErrorBody' };

/** The default response of every operation. */
export const ERROR_RESPONSE = {
  description: 'Any error; `x-error-codes` of the operation lists the codes by status',
  headers: { 'X-Request-Id': headerRef('X-Request-Id') },
  content: { 'application/json': { schema: ERROR_BODY_REF } },
};
