import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { finalize, tap, type Observable } from 'rxjs';
import { Idempotency } from '@rmm/persistence';
import { currentContext } from '@rmm/service-kit';
import type { AccessRequest, AccessResponse } from '../callers/access-request.js';
import { markReplayed } from './mark-replayed.js';
import { readIdempotentRequest } from './read-idempotent-request.js';

/** Reads the idempotency key of a request and marks a replayed response. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly idempotency: Idempotency) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = readIdempotentRequest(http.getRequest<AccessRequest>());
    const requestContext = currentContext();
    if (!request || !requestContext) return next.handle();
    const end = this.idempotency.start(request);
    requestContext.idempotency = request;
    return next.handle().pipe(
      tap(() => markReplayed(request, http.getResponse<AccessResponse>(), requestContext)),
      finalize(end),
    );
  }
}
