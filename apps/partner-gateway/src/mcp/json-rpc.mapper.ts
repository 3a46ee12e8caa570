import { InvalidRpcEnvelope } from './mcp.errors.js';

/** Error codes of JSON-RPC and MCP. @see docs/reference/mcp.md */
export const RPC_CODES = {
  malformedJson: -32700,
  invalidEnvelope: -32600,
  unknownMethod: -32601,
  invalidParameters: -32602,
  internal: -32603,
  rateLimited: -32000,
  unauthorized: -32001,
  approvalRequired: -32010,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

export type RpcId = string | number;

/** A request, or a notification, which gets no response. */
export interface RpcCall {
  /** Null for a notification. */
  id: RpcId | null;
  method: string;
  params: Record<string, unknown>;
}

export interface RpcError {
  code: number;
  message: string;
  data?: Record<string, unknown>;
}

export type RpcResponse = { jsonrpc: '2.0'; id: RpcId | null } & ({ result: object } | { error: RpcError });

export function toResultResponse(id: RpcId, result: object): RpcResponse {
  return { jsonrpc: '2.0', id, result };
}

export function toErrorResponse(id: RpcId | null, error: RpcError): RpcResponse {
  return { jsonrpc: '2.0', id, error };
}

/**
 * Reads one message. Batches are refused: the supported revision of MCP does not need them.
 * @throws InvalidRpcEnvelope
 */
export function readCall(body: unknown): RpcCall {
  if (!isObject(body)) throw new InvalidRpcEnvelope();
  const { jsonrpc, method, params = {} } = body;
  if (jsonrpc !== '2.0' || typeof method !== 'string' || !isObject(params)) throw new InvalidRpcEnvelope();
  if (!('id' in body)) return { id: null, method, params };
  if (!isId(body.id)) throw new InvalidRpcEnvelope();
  return { id: body.id, method, params };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isId(value: unknown): value is RpcId {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
}
