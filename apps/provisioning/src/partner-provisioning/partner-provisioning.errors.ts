import { ConflictError } from '@rmm/service-kit';

/** Names the existing organization, which is always one of the same partner, so that a repeated run can go on with it. */
export class PartnerProvisioningSlugConflict extends ConflictError {
  override code = 'partner_provisioning_slug_conflict';
  override error = 'Slug is already in use';

  /** @param orgId  null when the slug is free again */
  constructor(orgId: string | null) {
    super(undefined, { extras: orgId === null ? {} : { orgId } });
  }
}

/** Not retryable: the cap of the partner must be raised or an organization deleted. */
export class PartnerProvisioningLimitExceeded extends ConflictError {
  override code = 'partner_provisioning_org_limit_reached';
  override error = 'Organization limit reached';
}
