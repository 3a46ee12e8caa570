import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { map, type Observable } from 'rxjs';
import type { ExportPage } from './export.service.js';

const TAG_CHARACTERS = 27;

/**
 * Joins the JSON of the records of a page, which the response would serialize again, and sets its ETag: a consumer that
 * polls gets 304 while nothing changed.
 * @see docs/reference/partner-interface.md
 */
@Injectable()
export class ExportPageInterceptor implements NestInterceptor<ExportPage, Buffer> {
  intercept(context: ExecutionContext, next: CallHandler<ExportPage>): Observable<Buffer> {
    const response = context.switchToHttp().getResponse<ServerResponse>();
    return next.handle().pipe(
      map((page) => {
        response.setHeader('ETag', entityTagOf(page));
        response.setHeader('Cache-Control', 'private, no-cache');
        return toJson(page);
      }),
    );
  }
}

/**
 * Returns the tag of a page from the revisions of its records, its withheld records and its cursor. It is weak: `snapshotAt`,
 * which differs with each request, is left out.
 */
export function entityTagOf({ data, blocked = [], nextCursor }: ExportPage): string {
  const hash = createHash('sha256').update(JSON.stringify([nextCursor, blocked]));
  for (const { revision } of data) hash.update(revision);
  return `W/"${hash.digest('base64url').slice(0, TAG_CHARACTERS)}"`;
}

/** Returns the JSON of a page. */
export function toJson({ data, blocked, nextCursor, hasMore, ...head }: ExportPage): Buffer {
  const texts = [`${JSON.stringify(head).slice(0, -1)},"data":[`];
  for (const [index, { json }] of data.entries()) texts.push(index === 0 ? json : `,${json}`);
  texts.push(`],${JSON.stringify({ blocked, nextCursor, hasMore }).slice(1)}`);
  return Buffer.concat(texts.map((text) => Buffer.from(text)));
}
