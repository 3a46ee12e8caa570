import { BadRequestError } from '@rmm/service-kit';

/** The body is not a JSON-RPC 2.0 request. */
export class InvalidRpcEnvelope extends BadRequestError {
  override code = 'bad_envelope';
  override error = 'Invalid Request';
}

/** A method failed: the response is a JSON-RPC error with HTTP status 200. */
export class RpcMethodFailed extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}
