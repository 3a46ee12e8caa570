import type { ErrorBody } from '@rmm/contracts';
import type { KitResponse } from '../http/kit-request.js';
import type { DomainError } from './domain-error.js';

/** Returns the body of every error. @see docs/reference/errors.md */
export function toErrorBody(error: DomainError, requestId: string): ErrorBody {
  const body: ErrorBody = {
    error: error.error,
    message: error.sentence ?? error.error,
    code: error.code,
    ...(error.fieldErrors ? { details: { fieldErrors: error.fieldErrors } } : {}),
    requestId,
  };
  for (const [name, value] of Object.entries(error.extras ?? {})) body[name] ??= value;
  if (error.kind === 'rate_limited') body.retryAfter ??= retryAfterOf(error);
  return body;
}

/** Returns the body of an error for its caller. */
export type ToErrorBody = (error: DomainError, requestId: string) => object;

/**
 * Writes an error response; only destroys the connection when a response has already begun.
 * @param toBody  for protocols with another error body
 */
export function writeError(
  response: KitResponse,
  error: DomainError,
  requestId: string,
  toBody: ToErrorBody = toErrorBody,
): void {
  if (response.headersSent) {
    if (!response.writableEnded) response.destroy();
    return;
  }
  const text = JSON.stringify(toBody(error, requestId));
  response.errorCode = error.code;
  response.statusCode = error.status;
  for (const [name, value] of Object.entries(error.headers ?? {})) response.setHeader(name, value);
  const retryAfter = retryAfterOf(error);
  if (retryAfter !== undefined) response.setHeader('Retry-After', String(retryAfter));
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

function retryAfterOf(error: DomainError): number | undefined {
  if (error.retryAfterSeconds !== undefined) return Math.max(1, Math.ceil(error.retryAfterSeconds));
  return error.kind === 'rate_limited' || error.kind === 'unavailable' ? 1 : undefined;
}
