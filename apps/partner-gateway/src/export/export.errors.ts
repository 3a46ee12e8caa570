import { BadRequestError, InternalError } from '@rmm/service-kit';

/** An unknown parameter, a parameter given twice, or a malformed id. */
export class InvalidExportQuery extends BadRequestError {
  override code = 'invalid_partner_export_query';
  override error = this.given ?? 'Invalid query';
}

/** An invalid `limit` or `updatedSince`. */
export class InvalidExportPagination extends BadRequestError {
  override code = 'invalid_partner_export_pagination';
  override error = this.given ?? 'Invalid pagination';
}

/** A cursor that is forged, of another export, or too old. */
export class InvalidExportCursor extends BadRequestError {
  override code = 'invalid_partner_export_cursor';
  override error = 'Invalid cursor';
}

/** An unexpected error. @see docs/reference/partner-interface.md */
export class PartnerExportFailed extends InternalError {
  override code = 'partner_export_failed';
  override error = 'Partner export failed';
}

/** A record differs from its published schema: an error of a mapper, or data that its owner should not have stored. */
export class RecordSchemaViolation extends Error {
  constructor(resource: string, { path, keyword }: { path: string; keyword: string }) {
    super(`A record of ${resource} violates its published schema at ${path || 'its root'}: ${keyword}`);
  }
}
