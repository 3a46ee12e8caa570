import { type ArgumentsHost, Catch, type ExceptionFilter, Inject, Injectable } from '@nestjs/common';
import type { ErrorBody } from '@rmm/contracts';
import { type DomainError, toDomainError } from '@rmm/errors';
import type { KitRequest, KitResponse } from '../http/kit-request.types.js';
import { loggedPath } from '../http/logged-path.js';
import { Logger } from '../logging/logger.service.js';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Global: turns every error of a handler into the error body. */
@Catch()
@Injectable()
export class ErrorFilter implements ExceptionFilter {
  /** Override for protocols with a media type of their own. */
  protected readonly contentType: string = JSON_TYPE;

  constructor(@Inject(Logger) private readonly logger: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    if (host.getType() !== 'http') throw thrown;
    const http = host.switchToHttp();
    const request = http.getRequest<KitRequest>();
    const response = http.getResponse<KitResponse>();
    response.onFailure?.(thrown);
    if (response.writableEnded) return; // after the time limit of the request has responded
    const error = this.translate(thrown);
    logError(this.logger, error, request);
    writeError(response, error, request.requestId, {
      toBody: (...given) => this.toBody(...given),
      contentType: this.contentType,
    });
  }

  /** Override for routes with other codes or texts, and use the filter on their controllers. */
  protected translate(thrown: unknown): DomainError {
    return toDomainError(thrown);
  }

  /** Override for protocols with another error body; errors before the router need an `ErrorBodyRule`. */
  protected toBody(error: DomainError, requestId: string): object {
    return toErrorBody(error, requestId);
  }
}

/** Logs errors of the caller as `debug`, our own as `error` with their cause, and unavailable dependencies as `warn`. */
export function logError(logger: Logger, error: DomainError, request: KitRequest): void {
  const level = error.status < 500 ? 'debug' : error.kind === 'internal' ? 'error' : 'warn';
  if (!logger.isEnabled(level)) return;
  const { code, status, logDetails, cause } = error;
  const at = { method: request.method, path: loggedPath(request.pathname) };
  logger[level]({ code, status, ...at, ...logDetails, err: cause ?? error }, `request failed: ${error.error}`);
}

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

/** The body of errors of a protocol of its own. */
export interface ErrorForm {
  toBody?: ToErrorBody;
  contentType?: string;
}

/**
 * Writes an error response; only destroys the connection when a response has already begun.
 * @param form  for protocols with another error body
 */
export function writeError(
  response: KitResponse,
  error: DomainError,
  requestId: string,
  { toBody = toErrorBody, contentType = JSON_TYPE }: ErrorForm = {},
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
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

function retryAfterOf(error: DomainError): number | undefined {
  if (error.retryAfterSeconds !== undefined) return Math.max(1, Math.ceil(error.retryAfterSeconds));
  return error.kind === 'rate_limited' || error.kind === 'unavailable' ? 1 : undefined;
}
