import { ForbiddenError, UnavailableError } from '@rmm/service-kit';

/** 403: builds are not pushed to agents here; in production unless `DEV_PUSH_ENABLED=true`. */
export class DevPushDisabled extends ForbiddenError {
  override code = 'dev_push_disabled';
  override error = 'Dev push is disabled';
}

const RETRY_SECONDS = 60;

/** 503: the builds that wait for their agents take up the space that is set for them. */
export class DevPushStorageFull extends UnavailableError {
  override code = 'dev_push_storage_full';
  override error = 'Too many builds are waiting for their agents';

  constructor() {
    super(undefined, { retryAfterSeconds: RETRY_SECONDS });
  }
}
