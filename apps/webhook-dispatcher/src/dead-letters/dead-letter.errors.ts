import { NotFoundError } from '@rmm/service-kit';

export class DeadLetterNotFound extends NotFoundError {
  constructor() {
    super('Dead letter');
  }
}
