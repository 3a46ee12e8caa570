import { type ArgumentsHost, Catch, type ExceptionFilter, Inject, Injectable } from '@nestjs/common';
import type { KitRequest, KitResponse } from '../http/kit-request.js';
import { loggedPath } from '../http/logged-path.js';
import { Logger } from '../logging/logger.js';
import type { DomainError } from './domain-error.js';
import { toErrorBody, writeError } from './error-body.js';
import { toDomainError } from './to-domain-error.js';

/** Global: turns every error of a handler into the error body. */
@Catch()
@Injectable()
export class ErrorFilter implements ExceptionFilter {
  constructor(@Inject(Logger) private readonly logger: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    if (host.getType() !== 'http') throw thrown;
    const http = host.switchToHttp();
    const request = http.getRequest<KitRequest>();
    const response = http.getResponse<KitResponse>();
    if (response.writableEnded) return; // after the time limit of the request has responded
    const error = this.translate(thrown);
    logError(this.logger, error, request);
    writeError(response, error, request.requestId, (...given) => this.toBody(...given));
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
