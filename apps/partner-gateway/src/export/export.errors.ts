import { BadRequestError, InternalError } from '@rmm/service-kit';

/** A parameter this list does not take, twice the same one, or a malformed id. */
export class InvalidExportQuery extends BadRequestError {
  override code = 'invalid_partner_export_query';
  override error = this.given ?? 'Invalid query';
}

/** `limit` or `updatedSince`. */
export class InvalidExportPagination extends BadRequestError {
  override code = 'invalid_partner_export_pagination';
  override error = this.given ?? 'Invalid pagination';
}

/** Not made by us, or for another walk, or too old. */
export class InvalidExportCursor extends BadRequestError {
  override code = 'invalid_partner_export_cursor';
  override error = 'Invalid cursor';
}

/** Whatever nobody expected. @see CONTRACT.md 4.4.1 */
export class PartnerExportFailed extends InternalError {
  override code = 'partner_export_failed';
  override error = 'Partner export failed';
}
