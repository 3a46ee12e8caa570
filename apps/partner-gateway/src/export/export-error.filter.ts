import { Catch } from '@nestjs/common';
import { type DomainError, ErrorFilter, toDomainError } from '@rmm/service-kit';
import { PartnerExportFailed } from './export.errors.js';

/** Gives unexpected errors of the partner interface a code of their own. */
@Catch()
export class ExportErrorFilter extends ErrorFilter {
  protected override translate(thrown: unknown): DomainError {
    const error = toDomainError(thrown);
    return error.kind === 'internal' ? new PartnerExportFailed(undefined, { cause: error.cause ?? error }) : error;
  }
}
