import { BadRequestError, ForbiddenError, NotFoundError } from '@rmm/service-kit';

/** The body is not a JSON-RPC 2.0 request. */
export class InvalidRpcEnvelope extends BadRequestError {
  override code = 'bad_envelope';
  override error = 'Invalid Request';
}

/** A call on /mcp/sse other than `initialize` names no session. */
export class McpSessionRequired extends BadRequestError {
  override code = 'mcp_session_required';
  override error = 'Mcp-Session-Id is required: call initialize first';
}

/** The session ended, or there never was one. */
export class McpSessionNotFound extends NotFoundError {
  override code = 'mcp_session_not_found';
  override error = 'Session not found: call initialize again';
}

/** The session was opened with another API key. */
export class McpSessionOfAnotherKey extends ForbiddenError {
  override code = 'mcp_session_of_another_key';
  override error = 'The session belongs to another API key';
}

/** A page of another origin sends the request. */
export class OriginNotAllowed extends ForbiddenError {
  override code = 'origin_not_allowed';
  override error = 'Origin not allowed';
}

/** A request to a local address names another host. */
export class HostNotAllowed extends ForbiddenError {
  override code = 'host_not_allowed';
  override error = 'Host not allowed';
}

export interface RpcFailureOptions {
  data?: Record<string, unknown>;
  /** 200 unless the protocol names another one. */
  status?: number;
}

/** A method failed: the response is a JSON-RPC error. */
export class RpcMethodFailed extends Error {
  readonly data?: Record<string, unknown>;
  readonly status: number;

  constructor(
    readonly code: number,
    message: string,
    { data, status = 200 }: RpcFailureOptions = {},
  ) {
    super(message);
    this.data = data;
    this.status = status;
  }

  /** The code of the refusal, else that of JSON-RPC. */
  get reason(): string {
    const code = this.data?.['code'];
    return typeof code === 'string' ? code : String(this.code);
  }
}
