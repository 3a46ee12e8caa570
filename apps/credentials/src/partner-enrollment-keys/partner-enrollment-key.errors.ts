import { BadRequestError, ForbiddenError } from '@rmm/service-kit';

/** The site is unknown, deleted or one of another organization. */
export class PartnerProvisioningSiteMismatch extends BadRequestError {
  override code = 'partner_provisioning_site_mismatch';
  override error = 'The site does not belong to the organization';
}

export class PartnerProvisioningTtlExceedsCap extends BadRequestError {
  override code = 'partner_provisioning_ttl_exceeds_cap';
  override error = 'The lifetime is longer than the partner allows';
}

/** With `PARTNER_MINT_REQUIRES_RESTRICTED_PRINCIPAL`: the principal has neither an expiry nor source addresses. */
export class PartnerPrincipalRestrictionsRequired extends ForbiddenError {
  override code = 'partner_provisioning_principal_restrictions_required';
  override error = 'The principal needs an expiry or source addresses';
}
