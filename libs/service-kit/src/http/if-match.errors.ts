import { BadRequestError, PreconditionFailedError } from '@rmm/errors';

/** 400: `If-Match` is neither `*` nor a list of entity tags. */
export class InvalidIfMatch extends BadRequestError {
  override code = 'invalid_if_match';
  override error = 'If-Match is neither * nor a list of entity tags';
}

/** 412: the stored record has none of the entity tags of `If-Match`. */
export class RecordChanged extends PreconditionFailedError {
  override error = 'The record has changed';

  constructor() {
    super(undefined, { message: 'The record has changed since it was read. Read it again, then repeat your change.' });
  }
}
