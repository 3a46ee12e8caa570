import { ConflictError } from '@rmm/service-kit';

export class KeyLimitExceeded extends ConflictError {
  override code = 'key_limit_reached';
  override error = 'No more keys of this kind can be created';

  constructor(limit: number) {
    super(undefined, { message: `At most ${limit} are allowed; revoke or delete unused ones`, extras: { limit } });
  }
}
