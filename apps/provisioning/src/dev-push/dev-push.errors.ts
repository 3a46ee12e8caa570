import { ForbiddenError } from '@rmm/service-kit';

/** 403: this service does not push builds to agents. */
export class DevPushDisabled extends ForbiddenError {
  override code = 'dev_push_disabled';
  override error = 'Dev push is disabled';
}
