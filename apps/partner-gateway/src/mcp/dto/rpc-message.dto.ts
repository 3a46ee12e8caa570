import { type ApiBodyOptions, type ApiHeaderOptions, type ApiResponseOptions } from '@nestjs/swagger';

const JSONRPC = { type: 'string', enum: ['2.0'], description: 'Version of JSON-RPC' };
const ID = {
  oneOf: [{ type: 'string' }, { type: 'number' }],
  description: 'Id of the request, which the response repeats',
};

/** OpenAPI descriptions of the JSON-RPC messages; the protocol defines them, so they have no DTO class. */
export const RPC_REQUEST: ApiBodyOptions = {
  description: 'One JSON-RPC 2.0 request of at most 64 KB, or a notification, which has no `id`',
  schema: {
    type: 'object',
    required: ['jsonrpc', 'method'],
    properties: {
      jsonrpc: JSONRPC,
      id: ID,
      method: { type: 'string', description: 'Method, such as `tools/call`' },
      params: { type: 'object', description: 'Parameters of the method' },
    },
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
      result: { type: 'object', additionalProperties: true, description: 'Result of the method; absent with an error' },
      error: {
        type: 'object',
        description: 'Why the method failed; absent with a result',
        required: ['code', 'message'],
        properties: {
          code: { type: 'integer', description: 'Code of JSON-RPC or MCP' },
          message: { type: 'string', description: 'Explains the error' },
          data: {
            type: 'object',
            additionalProperties: true,
            description: '`code` of the refusal, `fieldErrors` of arguments',
          },
        },
      },
    },
    example: { jsonrpc: '2.0', id: 1, result: { tools: [] } },
  },
};

export const MCP_VERSION_HEADER: ApiHeaderOptions = {
  name: 'MCP-Protocol-Version',
  required: false,
  description: '`2026-07-28` for messages without a handshake, with `Mcp-Method` and `Mcp-Name`',
  schema: { type: 'string' },
};

export const MCP_SESSION_HEADER: ApiHeaderOptions = {
  name: 'Mcp-Session-Id',
  required: false,
  description: 'The session that `initialize` opened; it ends 11 minutes after its last use',
  schema: { type: 'string', pattern: '^mcp_[A-Za-z0-9_-]{32}$' },
};
