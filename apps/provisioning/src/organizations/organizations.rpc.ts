import { Controller } from '@nestjs/common';
import {
  PROVISIONING_ORGANIZATIONS_ENSURE_FIRST,
  PROVISIONING_ORGANIZATIONS_GET,
  PROVISIONING_ORGANIZATIONS_LIST_SINCE,
  type RpcReply,
  type RpcRequest,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { FirstOrganizationService } from './first-organization.service.js';
import { OrganizationDirectoryRepository } from './organization-directory.repository.js';

/** Serves the directories of the other services, and the sign-up of identity. */
@Controller()
export class OrganizationsRpc {
  constructor(
    private readonly directory: OrganizationDirectoryRepository,
    private readonly firstOrganization: FirstOrganizationService,
  ) {}

  @RpcHandler(PROVISIONING_ORGANIZATIONS_GET)
  async get({
    orgIds,
  }: RpcRequest<typeof PROVISIONING_ORGANIZATIONS_GET>): Promise<RpcReply<typeof PROVISIONING_ORGANIZATIONS_GET>> {
    return { organizations: await this.directory.get(orgIds) };
  }

  @RpcHandler(PROVISIONING_ORGANIZATIONS_LIST_SINCE)
  listSince(
    request: RpcRequest<typeof PROVISIONING_ORGANIZATIONS_LIST_SINCE>,
  ): Promise<RpcReply<typeof PROVISIONING_ORGANIZATIONS_LIST_SINCE>> {
    return this.directory.listSince(request);
  }

  @RpcHandler(PROVISIONING_ORGANIZATIONS_ENSURE_FIRST)
  ensureFirst(
    request: RpcRequest<typeof PROVISIONING_ORGANIZATIONS_ENSURE_FIRST>,
  ): Promise<RpcReply<typeof PROVISIONING_ORGANIZATIONS_ENSURE_FIRST>> {
    return this.firstOrganization.ensureForPartner(request);
  }
}
