import { Controller } from '@nestjs/common';
import { runForwarded, tenantOf } from '@rmm/access';
import {
  PROVISIONING_PARTNER_ORGANIZATIONS_CREATE,
  PROVISIONING_PARTNER_SITES_CREATE,
  type PartnerOrganizationCreateRequest,
  type PartnerSiteCreateRequest,
  type RpcReply,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { PartnerProvisioningService } from './partner-provisioning.service.js';

/** Serves the writes of the partner interface. */
@Controller()
export class PartnerProvisioningRpc {
  constructor(private readonly provisioning: PartnerProvisioningService) {}

  @RpcHandler(PROVISIONING_PARTNER_ORGANIZATIONS_CREATE)
  createOrganization(
    request: PartnerOrganizationCreateRequest,
  ): Promise<RpcReply<typeof PROVISIONING_PARTNER_ORGANIZATIONS_CREATE>> {
    const tenant = tenantOf(request.caller);
    return runForwarded(request.idempotency, tenant, () => this.provisioning.createOrganization(request));
  }

  @RpcHandler(PROVISIONING_PARTNER_SITES_CREATE)
  createSite(request: PartnerSiteCreateRequest): Promise<RpcReply<typeof PROVISIONING_PARTNER_SITES_CREATE>> {
    const tenant = tenantOf(request.caller);
    return runForwarded(request.idempotency, tenant, () => this.provisioning.createSite(request));
  }
}
