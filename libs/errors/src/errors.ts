import { DomainError, type DomainErrorOptions, type ErrorKind } from './domain-error.js';

/** Creates the concrete class of a kind. Features extend it and override `code` and `error`. */
function errorOf(kind: ErrorKind, defaultCode: string, defaultText: string) {
  return class extends DomainError {
    readonly kind: ErrorKind = kind;
    code = defaultCode;
    error = this.given ?? defaultText;
  };
}

export class BadRequestError extends errorOf('bad_request', 'bad_request', 'Bad Request') {}
export class UnauthenticatedError extends errorOf('unauthenticated', 'unauthenticated', 'Unauthorized') {}
export class ForbiddenError extends errorOf('forbidden', 'permission_denied', 'Permission denied') {}
export class MethodNotAllowedError extends errorOf('method_not_allowed', 'method_not_allowed', 'Method Not Allowed') {}
export class ConflictError extends errorOf('conflict', 'conflict', 'Conflict') {}
export class GoneError extends errorOf('gone', 'gone', 'Gone') {}
export class PreconditionFailedError extends errorOf(
  'precondition_failed',
  'precondition_failed',
  'Precondition failed',
) {}
export class PayloadTooLargeError extends errorOf('payload_too_large', 'payload_too_large', 'Payload too large') {}
export class UnsupportedMediaTypeError extends errorOf(
  'unsupported_media_type',
  'unsupported_media_type',
  'Unsupported media type',
) {}
export class RangeNotSatisfiableError extends errorOf(
  'range_not_satisfiable',
  'range_not_satisfiable',
  'Range not satisfiable',
) {}
export class PreconditionRequiredError extends errorOf(
  'precondition_required',
  'precondition_required',
  'Precondition required',
) {}
/** 429; the body has `retryAfter` and the headers `Retry-After`, whole seconds, at least 1. */
export class RateLimitedError extends errorOf('rate_limited', 'rate_limited', 'Too many requests') {}
export class HeadersTooLargeError extends errorOf(
  'headers_too_large',
  'request_headers_too_large',
  'Request headers and URL are larger than 16 KB',
) {}
export class InternalError extends errorOf('internal', 'internal_error', 'Internal Server Error') {}
export class NotImplementedError extends errorOf('not_implemented', 'not_implemented', 'Not Implemented') {}
export class UpstreamError extends errorOf('upstream', 'upstream_failed', 'Upstream service failed') {}

/** `new NotFoundError('Webhook')` is "Webhook not found"; without a resource "Not Found", as for an unknown route. */
export class NotFoundError extends errorOf('not_found', 'not_found', 'Not Found') {
  override error = this.given === undefined ? 'Not Found' : `${this.given} not found`;
}

/** 400 `validation_failed`; the first field error is the short text. */
export class ValidationError extends errorOf('validation', 'validation_failed', 'Validation failed') {
  override error = this.given ?? this.firstFieldError() ?? 'Validation failed';

  /** Returns the error of one field with one text. */
  static forField(path: string, text: string): ValidationError {
    return new ValidationError(undefined, { fieldErrors: { [path]: [text] } });
  }

  /** The body of an update names no field. */
  static nothingToChange(): ValidationError {
    return ValidationError.forField('body', 'names no field to change');
  }

  private firstFieldError(): string | undefined {
    const [first] = Object.entries(this.fieldErrors ?? {});
    return first && `${first[0]}: ${first[1][0]}`;
  }
}

/** 503 with `Retry-After`, 1 second by default: a dependency is down, or a policy cannot be read. */
export class UnavailableError extends errorOf('unavailable', 'service_unavailable', 'Service temporarily unavailable') {
  constructor(given?: string, options: DomainErrorOptions = {}) {
    super(given, { ...options, retryAfterSeconds: options.retryAfterSeconds ?? 1 });
  }
}

type ErrorClass = new (given?: string, options?: DomainErrorOptions) => DomainError;

export const ERROR_CLASSES: Record<ErrorKind, ErrorClass> = {
  bad_request: BadRequestError,
  validation: ValidationError,
  unauthenticated: UnauthenticatedError,
  forbidden: ForbiddenError,
  not_found: NotFoundError,
  method_not_allowed: MethodNotAllowedError,
  conflict: ConflictError,
  gone: GoneError,
  precondition_failed: PreconditionFailedError,
  payload_too_large: PayloadTooLargeError,
  unsupported_media_type: UnsupportedMediaTypeError,
  range_not_satisfiable: RangeNotSatisfiableError,
  precondition_required: PreconditionRequiredError,
  rate_limited: RateLimitedError,
  headers_too_large: HeadersTooLargeError,
  internal: InternalError,
  not_implemented: NotImplementedError,
  upstream: UpstreamError,
  unavailable: UnavailableError,
};
