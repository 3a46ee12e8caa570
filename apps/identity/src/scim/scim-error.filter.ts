import { Catch, Injectable } from '@nestjs/common';
import { ErrorFilter, type DomainError } from '@rmm/service-kit';
import { SCIM_CONTENT_TYPE, toScimErrorBody } from './scim.config.js';

/** Turns the errors of SCIM routes into the error body of SCIM. */
@Catch()
@Injectable()
export class ScimErrorFilter extends ErrorFilter {
  protected override readonly contentType = SCIM_CONTENT_TYPE;

  protected override toBody(error: DomainError, requestId: string): object {
    return toScimErrorBody(error, requestId);
  }
}
