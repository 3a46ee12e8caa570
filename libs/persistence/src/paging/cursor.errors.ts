import { BadRequestError } from '@rmm/service-kit';

/** The cursor is forged, or of another tenant, filter or order. @see docs/reference/requests.md */
export class InvalidCursor extends BadRequestError {
  override code = 'invalid_cursor';
  override error = 'Invalid cursor';
}
