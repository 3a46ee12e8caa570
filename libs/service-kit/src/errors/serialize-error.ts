import { DomainError, type DomainErrorOptions, type ErrorKind } from './domain-error.js';
import * as errors from './errors.js';

/** An error on its way through NATS: everything a caller may read, nothing of the cause. */
export interface SerializedError extends Pick<
  DomainErrorOptions,
  'extras' | 'message' | 'fieldErrors' | 'retryAfterSeconds' | 'headers'
> {
  kind: ErrorKind;
  code: string;
  error: string;
}

const CLASS_OF_KIND: Record<ErrorKind, new (given?: string, options?: DomainErrorOptions) => DomainError> = {
  bad_request: errors.BadRequestError,
  validation: errors.ValidationError,
  unauthenticated: errors.UnauthenticatedError,
  forbidden: errors.ForbiddenError,
  not_found: errors.NotFoundError,
  method_not_allowed: errors.MethodNotAllowedError,
  conflict: errors.ConflictError,
  gone: errors.GoneError,
  payload_too_large: errors.PayloadTooLargeError,
  unsupported_media_type: errors.UnsupportedMediaTypeError,
  precondition_required: errors.PreconditionRequiredError,
  rate_limited: errors.RateLimitedError,
  internal: errors.InternalError,
  not_implemented: errors.NotImplementedError,
  upstream: errors.UpstreamError,
  unavailable: errors.UnavailableError,
};

/** Anything that is not a DomainError crosses as `internal_error` without its cause. */
export function serializeError(error: unknown): SerializedError {
  const domain = error instanceof DomainError ? error : new errors.InternalError();
  return {
    kind: domain.kind,
    code: domain.code,
    error: domain.error,
    message: domain.sentence,
    extras: domain.extras,
    fieldErrors: domain.fieldErrors,
    retryAfterSeconds: domain.retryAfterSeconds,
    headers: domain.headers,
  };
}

/** The error of the other side, as an instance of the class of its kind with its own code and text. */
export function deserializeError(json: unknown): DomainError {
  const { kind, code, error, ...options } = (json ?? {}) as Partial<SerializedError>;
  const known = kind !== undefined && Object.hasOwn(CLASS_OF_KIND, kind);
  if (!known || typeof code !== 'string' || typeof error !== 'string') {
    return new errors.InternalError(undefined, { logDetails: { unreadableError: json } });
  }
  const revived = new CLASS_OF_KIND[kind](error, options);
  revived.code = code;
  revived.error = error;
  return revived;
}
