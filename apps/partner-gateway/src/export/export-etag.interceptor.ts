import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { map, type Observable } from 'rxjs';
import type { ExportPage } from './export.service.js';

const TAG_CHARACTERS = 27;

/**
 * Sets the ETag of a page, so that a consumer that polls gets 304 while nothing changed. The tag is weak: `snapshotAt`, which
 * differs with each request, is left out.
 * @see docs/reference/partner-interface.md
 */
@Injectable()
export class ExportETagInterceptor implements NestInterceptor<ExportPage, ExportPage> {
  intercept(context: ExecutionContext, next: CallHandler<ExportPage>): Observable<ExportPage> {
    const response = context.switchToHttp().getResponse<ServerResponse>();
    return next.handle().pipe(
      map((page) => {
        response.setHeader('ETag', entityTagOf(page));
        response.setHeader('Cache-Control', 'private, no-cache');
        return page;
      }),
    );
  }
}

/** Returns the tag of a page from the revisions of its records, its withheld records and its cursor. */
export function entityTagOf({ data, blocked = [], nextCursor }: ExportPage): string {
  const hash = createHash('sha256').update(JSON.stringify([nextCursor, blocked]));
  for (const { revision } of data) hash.update(revision);
  return `W/"${hash.digest('base64url').slice(0, TAG_CHARACTERS)}"`;
}
