import { BadRequestError, NotFoundError, ValidationError } from '@rmm/service-kit';

export class EnrollmentKeyNotFound extends NotFoundError {
  constructor() {
    super('Enrollment key');
  }
}

export class EnrollmentTtlExceedsCap extends BadRequestError {
  override code = 'enrollment_ttl_exceeds_cap';
  override error = 'The lifetime is longer than the partner allows';
}

/** 400 naming `siteId`. */
export class SiteNotInOrganization extends ValidationError {
  constructor() {
    super(undefined, { fieldErrors: { siteId: ['is not a site of this organization'] } });
  }
}
