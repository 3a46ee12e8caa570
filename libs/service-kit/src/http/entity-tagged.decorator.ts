import { applyDecorators, UseInterceptors } from '@nestjs/common';
import { DescribeEntityTags } from '@rmm/openapi';
import { EntityTagInterceptor } from './entity-tag.interceptor.js';

/**
 * Supports entity tags on the routes of one record: GET, POST, PUT and PATCH respond with its `ETag`, GET with 304 for
 * `If-None-Match`; PUT, PATCH and DELETE take `If-Match`, whose use case calls `assertIfMatch`. All routes of a record name the
 * same fields.
 * @param volatileFields  fields that change without an edit, such as counters and times of last use; an edit is not refused
 *   when only these have changed
 * @see docs/reference/requests.md#entity-tags
 */
export const EntityTagged = <Dto extends object>(...volatileFields: (keyof Dto & string)[]): MethodDecorator =>
  applyDecorators(DescribeEntityTags(), UseInterceptors(new EntityTagInterceptor(volatileFields)));
