import { BadRequestError, NotFoundError } from '@rmm/service-kit';

export class EnrollmentKeyNotFound extends NotFoundError {
  constructor() {
    super('Enrollment key');
  }
}

export class EnrollmentTtlExceedsCap extends BadRequestError {
  override code = 'enrollment_ttl_exceeds_cap';
  override error = 'The lifetime is longer than the partner allows';
}
