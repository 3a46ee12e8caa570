import { type ApiBodyOptions, type ApiResponseOptions } from '@nestjs/swagger';

const JSONRPC = { type: 'string', enum: ['2.0'] };
const ID = { oneOf: [{ type: 'string' }, { type: 'number' }] };

/** OpenAPI descriptions of the JSON-RPC messages; the protocol defines them, so they have no DTO class. */
export const RPC_REQUEST: ApiBodyOptions = {
  description: 'One JSON-RPC 2.0 request of at most 64 KB, or a notification, which has no `id`',
  schema: {
    type: 'object',
    required: ['jsonrpc', 'method'],
    properties: { jsonrpc: JSONRPC, id: ID, method: { type: 'string' }, params: { type: 'object' } },
    example: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  },
};

export const RPC_RESPONSE: ApiResponseOptions = {
  description: '`result`, or `error` when the method is unknown or its parameters are invalid',
  schema: {
    type: 'object',
    required: ['jsonrpc', 'id'],
    properties: {
      jsonrpc: JSONRPC,
      id: { ...ID, nullable: true },
      result: { type: 'object', additionalProperties: true },
      error: {
        type: 'object',
        required: ['code', 'message'],
        properties: {
          code: { type: 'integer' },
          message: { type: 'string' },
          data: { type: 'object', additionalProperties: true },
        },
      },
    },
    example: { jsonrpc: '2.0', id: 1, result: { tools: [] } },
  },
};
