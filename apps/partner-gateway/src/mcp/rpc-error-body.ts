import { type DomainError, type ErrorKind } from '@rmm/service-kit';
import { errorOf, RPC_CODES, type RpcAnswer } from './json-rpc.js';

const BY_KIND: Partial<Record<ErrorKind, number>> = {
  unauthenticated: RPC_CODES.unauthorized,
  forbidden: RPC_CODES.unauthorized,
  rate_limited: RPC_CODES.limited,
  unavailable: RPC_CODES.limited,
  internal: RPC_CODES.internal,
};

/** The table of CONTRACT.md 4.10.10: our errors as JSON-RPC objects. Which request failed is not known any more. */
export function toRpcErrorBody({ kind, code, error, extras }: DomainError, requestId: string): RpcAnswer {
  const rpcCode = code === 'malformed_json' ? RPC_CODES.malformedJson : (BY_KIND[kind] ?? RPC_CODES.badEnvelope);
  return errorOf(null, { code: rpcCode, message: error, data: { ...extras, code, requestId } });
}
