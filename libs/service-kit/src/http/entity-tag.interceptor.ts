import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import { currentContext } from '../context/request-context.js';
import { entityTagOf } from './entity-tag.js';
import { parseIfMatch } from './if-match.js';
import type { KitRequest, KitResponse } from './kit-request.types.js';

/** Methods whose `If-Match` is compared. */
const CHANGES = ['PUT', 'PATCH', 'DELETE'];

/** Sets the ETag of responses with a record, and reads `If-Match` for `assertIfMatch`. */
export class EntityTagInterceptor implements NestInterceptor<object, object> {
  constructor(private readonly volatileFields: readonly string[]) {}

  intercept(context: ExecutionContext, next: CallHandler<object>): Observable<object> {
    const http = context.switchToHttp();
    const { method, headers } = http.getRequest<KitRequest>();
    const requestContext = currentContext();
    const ifMatch = headers['if-match'];
    if (CHANGES.includes(method ?? '') && ifMatch !== undefined && requestContext) {
      requestContext.ifMatch = { revisions: parseIfMatch(ifMatch), volatileFields: this.volatileFields };
    }
    if (method === 'DELETE') return next.handle();
    return next.handle().pipe(map((record) => this.tag(record, method, http.getResponse<KitResponse>())));
  }

  private tag(record: object, method: string | undefined, response: KitResponse): object {
    response.setHeader('ETag', entityTagOf(record, this.volatileFields));
    if (method === 'GET' && !response.hasHeader('Cache-Control')) {
      response.setHeader('Cache-Control', 'private, no-cache');
    }
    return record;
  }
}
