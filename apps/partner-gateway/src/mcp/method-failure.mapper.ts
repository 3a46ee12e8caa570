import { DomainError, type ErrorKind } from '@rmm/service-kit';
import { RPC_CODES } from './json-rpc.mapper.js';
import { RpcMethodFailed } from './mcp.errors.js';

/** Refusals that the caller can correct are -32602, missing rights -32603. */
const CODES: Partial<Record<ErrorKind, number>> = {
  bad_request: RPC_CODES.invalidParameters,
  validation: RPC_CODES.invalidParameters,
  not_found: RPC_CODES.invalidParameters,
  conflict: RPC_CODES.invalidParameters,
  forbidden: RPC_CODES.internal,
};

/**
 * Converts an error of the service that owns the data to the error of a method. Any other error stays: it becomes the
 * response to the request, such as 503.
 */
export function toMethodFailure(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error;
  const code = CODES[error.kind];
  if (code === undefined) return error;
  const data = { ...error.extras, code: error.code, ...(error.fieldErrors && { fieldErrors: error.fieldErrors }) };
  return new RpcMethodFailed(code, error.sentence ?? error.error, { data });
}
