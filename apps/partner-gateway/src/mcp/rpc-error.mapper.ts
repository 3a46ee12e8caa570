import { type DomainError, type ErrorKind } from '@rmm/service-kit';
import { RPC_CODES, toErrorResponse, type RpcResponse } from './json-rpc.mapper.js';

const BY_KIND: Partial<Record<ErrorKind, number>> = {
  unauthenticated: RPC_CODES.unauthorized,
  forbidden: RPC_CODES.unauthorized,
  rate_limited: RPC_CODES.rateLimited,
  unavailable: RPC_CODES.rateLimited,
  internal: RPC_CODES.internal,
};

/** Converts an error to a JSON-RPC error; the id of the request is no longer known. */
export function toRpcErrorBody({ kind, code, error, extras }: DomainError, requestId: string): RpcResponse {
  const rpcCode = code === 'malformed_json' ? RPC_CODES.malformedJson : (BY_KIND[kind] ?? RPC_CODES.invalidEnvelope);
  return toErrorResponse(null, { code: rpcCode, message: error, data: { ...extras, code, requestId } });
}
