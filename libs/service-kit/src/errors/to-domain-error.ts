import { HttpException } from '@nestjs/common';
import { DomainError } from './domain-error.js';
import * as errors from './errors.js';

/** The network of a dependency gave up on us; whichever library says so. */
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

const BY_STATUS: Record<number, new (given?: string, options?: { cause?: unknown }) => DomainError> = {
  400: errors.BadRequestError,
  401: errors.UnauthenticatedError,
  403: errors.ForbiddenError,
  404: errors.NotFoundError,
  405: errors.MethodNotAllowedError,
  409: errors.ConflictError,
  410: errors.GoneError,
  413: errors.PayloadTooLargeError,
  415: errors.UnsupportedMediaTypeError,
  429: errors.RateLimitedError,
  501: errors.NotImplementedError,
  502: errors.UpstreamError,
  503: errors.UnavailableError,
};

/** Whatever was thrown, as an error a caller may read. What is not known is `internal_error` with the cause kept for the log. */
export function toDomainError(thrown: unknown): DomainError {
  if (thrown instanceof DomainError) return thrown;
  if (thrown instanceof URIError) return new errors.NotFoundError(undefined, { cause: thrown });
  const status = statusOf(thrown);
  if (status !== undefined) {
    const known = BY_STATUS[status] ?? (status < 500 ? errors.BadRequestError : undefined);
    if (known) return new known(undefined, { cause: thrown });
  }
  const { code } = (thrown ?? {}) as { code?: unknown };
  if (typeof code === 'string' && UNREACHABLE.has(code))
    return new errors.UnavailableError(undefined, { cause: thrown });
  return new errors.InternalError(undefined, { cause: thrown });
}

function statusOf(thrown: unknown): number | undefined {
  if (thrown instanceof HttpException) return thrown.getStatus();
  const { status, expose } = (thrown ?? {}) as { status?: unknown; expose?: unknown };
  return typeof status === 'number' && expose === true ? status : undefined;
}
