import { BadRequestError } from '@rmm/service-kit';

export class EnrollmentTtlExceedsCap extends BadRequestError {
  override code = 'enrollment_ttl_exceeds_cap';
  override error = 'The lifetime is longer than the partner allows';
}
