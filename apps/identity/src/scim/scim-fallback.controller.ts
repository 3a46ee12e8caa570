import { All, Controller, Req, UseFilters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '@rmm/access';
import { MethodNotAllowedError, NotFoundError, type KitRequest } from '@rmm/service-kit';
import { ScimErrorFilter } from './scim-error.filter.js';

/** The methods of each endpoint, by its path below the base URL. */
const ENDPOINTS: readonly [path: RegExp, methods: string][] = [
  [/^\/(?:Users|Groups)\/?$/i, 'GET, POST'],
  [/^\/(?:Users|Groups)\/[^/]+\/?$/i, 'GET, PUT, PATCH, DELETE'],
  [/^\/(?:ServiceProviderConfig\/?|(?:ResourceTypes|Schemas)(?:\/[^/]*)?\/?)$/i, 'GET'],
];
const BASE_PATH = /^.*?\/scim\/v2/i;

/** Refuses every other request of SCIM with its error body. @see docs/reference/scim.md */
@ApiExcludeController()
@Controller('scim')
@Public()
@UseFilters(ScimErrorFilter)
export class ScimFallbackController {
  /** @throws MethodNotAllowedError for a path of an endpoint, NotFoundError for another */
  @All(['', '*path'])
  refuse(@Req() { pathname }: KitRequest): never {
    const path = pathname.replace(BASE_PATH, '');
    const [, methods] = ENDPOINTS.find(([pattern]) => pattern.test(path)) ?? [];
    if (methods === undefined) throw new NotFoundError();
    throw new MethodNotAllowedError(undefined, { headers: { Allow: methods } });
  }
}
