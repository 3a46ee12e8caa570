import { Catch } from '@nestjs/common';
import { type DomainError, ErrorFilter, toDomainError } from '@rmm/service-kit';
import { PartnerExportFailed } from './export.errors.js';

/** The partner interface names the unexpected in its own word. */
@Catch()
export class PartnerErrorFilter extends ErrorFilter {
  protected override translate(thrown: unknown): DomainError {
    const error = toDomainError(thrown);
    return error.kind === 'internal' ? new PartnerExportFailed(undefined, { cause: error.cause ?? error }) : error;
  }
}
