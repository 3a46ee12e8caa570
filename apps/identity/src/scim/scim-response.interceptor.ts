import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { HttpResponse } from '../sessions/http-request.js';
import { SCIM_CONTENT_TYPE } from './scim.config.js';

/** Sends responses with the media type of SCIM. */
@Injectable()
export class ScimResponseInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    context.switchToHttp().getResponse<HttpResponse>().setHeader('Content-Type', SCIM_CONTENT_TYPE);
    return next.handle();
  }
}
