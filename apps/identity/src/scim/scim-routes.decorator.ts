import { applyDecorators, UseFilters, UseInterceptors } from '@nestjs/common';
import { ApiBody, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Caller } from '@rmm/access';
import { RateLimit } from '@rmm/rate-limits';
import { InternalError } from '@rmm/service-kit';
import { SCIM_REQUESTS } from '../limits.js';
import { ScimErrorFilter } from './scim-error.filter.js';
import { ScimResponseInterceptor } from './scim-response.interceptor.js';
import { SCIM_MEDIA_TYPE } from './scim.config.js';

/** Gives the routes of a controller the media type and errors of SCIM. */
export const ScimRoutes = (): ClassDecorator =>
  applyDecorators(
    ApiTags('SCIM'),
    ApiProduces(SCIM_MEDIA_TYPE),
    UseFilters(ScimErrorFilter),
    UseInterceptors(ScimResponseInterceptor),
  );

/** Limits the requests of a token. */
export const LimitScim = (): MethodDecorator =>
  RateLimit(SCIM_REQUESTS, (request) => {
    const caller = (request as unknown as { caller?: Caller }).caller;
    if (caller?.kind !== 'scim') throw new InternalError(undefined, { logDetails: { reason: 'no SCIM token' } });
    return caller.tokenId;
  });

/** Documents the body of a route: an open document, of which the stored attributes are read. */
export const ScimBody = (description: string, example: object): MethodDecorator =>
  ApiBody({ description, schema: { type: 'object', additionalProperties: true, example } });
