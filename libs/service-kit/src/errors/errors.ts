import { DomainError, type DomainErrorOptions, type ErrorKind, type FieldErrors } from './domain-error.js';

export class BadRequestError extends DomainError {
  readonly kind: ErrorKind = 'bad_request';
  code = 'bad_request';
  error = this.given ?? 'Bad Request';
}

/** 400 `validation_failed`; the first field error is the short text. */
export class ValidationError extends DomainError {
  readonly kind: ErrorKind = 'validation';
  code = 'validation_failed';
  error = this.given ?? firstFieldError(this.fieldErrors) ?? 'Validation failed';

  /** One field, one text. */
  static of(path: string, text: string): ValidationError {
    return new ValidationError(undefined, { fieldErrors: { [path]: [text] } });
  }
}

export class UnauthenticatedError extends DomainError {
  readonly kind: ErrorKind = 'unauthenticated';
  code = 'unauthenticated';
  error = this.given ?? 'Unauthorized';
}

export class ForbiddenError extends DomainError {
  readonly kind: ErrorKind = 'forbidden';
  code = 'permission_denied';
  error = this.given ?? 'Permission denied';
}

/** `new NotFoundError('Webhook')` says "Webhook not found"; without a resource "Not Found", as for an unknown route. */
export class NotFoundError extends DomainError {
  readonly kind: ErrorKind = 'not_found';
  code = 'not_found';
  error = this.given === undefined ? 'Not Found' : `${this.given} not found`;
}

export class MethodNotAllowedError extends DomainError {
  readonly kind: ErrorKind = 'method_not_allowed';
  code = 'method_not_allowed';
  error = this.given ?? 'Method Not Allowed';
}

export class ConflictError extends DomainError {
  readonly kind: ErrorKind = 'conflict';
  code = 'conflict';
  error = this.given ?? 'Conflict';
}

export class GoneError extends DomainError {
  readonly kind: ErrorKind = 'gone';
  code = 'gone';
  error = this.given ?? 'Gone';
}

export class PayloadTooLargeError extends DomainError {
  readonly kind: ErrorKind = 'payload_too_large';
  code = 'payload_too_large';
  error = this.given ?? 'Payload too large';
}

export class UnsupportedMediaTypeError extends DomainError {
  readonly kind: ErrorKind = 'unsupported_media_type';
  code = 'unsupported_media_type';
  error = this.given ?? 'Unsupported media type';
}

export class PreconditionRequiredError extends DomainError {
  readonly kind: ErrorKind = 'precondition_required';
  code = 'precondition_required';
  error = this.given ?? 'Precondition required';
}

/** 429; `retryAfter` stands in the body and `Retry-After` in the headers, whole seconds, at least 1. */
export class RateLimitedError extends DomainError {
  readonly kind: ErrorKind = 'rate_limited';
  code = 'rate_limited';
  error = this.given ?? 'Too many requests';
}

export class InternalError extends DomainError {
  readonly kind: ErrorKind = 'internal';
  code = 'internal_error';
  error = this.given ?? 'Internal Server Error';
}

export class NotImplementedError extends DomainError {
  readonly kind: ErrorKind = 'not_implemented';
  code = 'not_implemented';
  error = this.given ?? 'Not Implemented';
}

export class UpstreamError extends DomainError {
  readonly kind: ErrorKind = 'upstream';
  code = 'upstream_failed';
  error = this.given ?? 'Upstream service failed';
}

/** 503 with `Retry-After` (1 second unless said otherwise): a dependency is down, or a policy cannot be read. */
export class UnavailableError extends DomainError {
  readonly kind: ErrorKind = 'unavailable';
  code = 'service_unavailable';
  error = this.given ?? 'Service temporarily unavailable';

  constructor(given?: string, options: DomainErrorOptions = {}) {
    super(given, { ...options, retryAfterSeconds: options.retryAfterSeconds ?? 1 });
  }
}

function firstFieldError(fieldErrors: FieldErrors | undefined): string | undefined {
  const [first] = Object.entries(fieldErrors ?? {});
  return first && `${first[0]}: ${first[1][0]}`;
}
