import { ForbiddenError } from '@rmm/service-kit';

/** 403: no build is pushed to agents here. @see CONTRACT.md 4.10.9 */
export class DevPushDisabled extends ForbiddenError {
  override code = 'dev_push_disabled';
  override error = 'Dev push is disabled';
}
