import { BadRequestError, ConflictError, RateLimitedError } from '@rmm/service-kit';

/** 400: the key has an invalid form, or the two headers have different values. */
export class InvalidIdempotencyKey extends BadRequestError {
  override code = 'invalid_idempotency_key';
  override error = 'The idempotency key must have 1 to 255 visible ASCII characters and one value';
}

/** 409: the key was used for another body. */
export class IdempotencyKeyReused extends ConflictError {
  override code = 'idempotency_key_reused';
  override error = 'The idempotency key was used for another request';
}

/** 409 with `Retry-After: 1`: the first request with the key is still running. */
export class IdempotencyKeyInUse extends ConflictError {
  override code = 'idempotency_key_in_use';
  override error = 'A request with this idempotency key is still running';

  constructor() {
    super(undefined, { retryAfterSeconds: 1 });
  }
}

/** 409: the request was carried out; its response was too large to be stored, or was erased because it contained a key. */
export class IdempotentResponseNotStored extends ConflictError {
  override code = 'idempotent_response_not_stored';
  override error = 'The request was carried out before; its response is not stored';
}

/** 429: the responses that are stored for the caller have reached a limit; `Retry-After` is when the oldest one expires. */
export class TooManyIdempotencyKeys extends RateLimitedError {
  override code = 'too_many_idempotency_keys';
  override error = 'Too many responses are stored for idempotency keys of this caller';

  constructor(retryAfterSeconds: number) {
    super(undefined, { retryAfterSeconds });
  }
}
