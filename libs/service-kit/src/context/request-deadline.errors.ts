import { UnavailableError } from '@rmm/errors';

/** The time limit of a request has passed; nothing more is committed for it. */
export class RequestExpired extends UnavailableError {
  constructor() {
    super(undefined, { logDetails: { reason: 'the time limit of the request has passed' } });
  }
}
