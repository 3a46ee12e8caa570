import { Controller } from '@nestjs/common';
import { PROVISIONING_SITES_EXISTING, PROVISIONING_SITES_GET, type RpcReply, type RpcRequest } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { toSiteState } from './site.events.js';
import { SitesRepository } from './sites.repository.js';

/** Serves credentials, which pins keys to sites, and identity, which restricts members to sites. */
@Controller()
export class SitesRpc {
  constructor(private readonly sites: SitesRepository) {}

  @RpcHandler(PROVISIONING_SITES_GET)
  async get(request: RpcRequest<typeof PROVISIONING_SITES_GET>): Promise<RpcReply<typeof PROVISIONING_SITES_GET>> {
    const site = await this.sites.findLive(request.orgId, request.siteId);
    return { site: site && toSiteState(site) };
  }

  @RpcHandler(PROVISIONING_SITES_EXISTING)
  async listExisting({
    orgId,
    siteIds,
  }: RpcRequest<typeof PROVISIONING_SITES_EXISTING>): Promise<RpcReply<typeof PROVISIONING_SITES_EXISTING>> {
    return { siteIds: await this.sites.listLiveIds(orgId, siteIds) };
  }
}
