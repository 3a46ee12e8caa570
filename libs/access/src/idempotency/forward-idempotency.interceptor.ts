import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { tap, type Observable } from 'rxjs';
import { currentContext } from '@rmm/service-kit';
import type { AccessRequest, AccessResponse } from '../callers/access-request.js';
import { markReplayed } from './mark-replayed.js';
import { readIdempotentRequest } from './read-idempotent-request.js';

/** Reads the idempotency key of a request whose effect another service stores, and marks a replayed response. */
@Injectable()
export class ForwardIdempotencyInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = readIdempotentRequest(http.getRequest<AccessRequest>());
    const requestContext = currentContext();
    if (!request || !requestContext) return next.handle();
    requestContext.idempotency = request;
    return next.handle().pipe(tap(() => markReplayed(request, http.getResponse<AccessResponse>(), requestContext)));
  }
}
