import { Controller } from '@nestjs/common';
import { WEBHOOK_DISPATCHER_ORGANIZATIONS_IN_USE, type OrganizationsInUseRequest } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { OrganizationUseRepository } from './organization-use.repository.js';

/** Returns to provisioning, before it undoes an import, which of the created organizations have records here. */
@Controller()
export class OrganizationUseRpc {
  constructor(private readonly records: OrganizationUseRepository) {}

  @RpcHandler(WEBHOOK_DISPATCHER_ORGANIZATIONS_IN_USE)
  async listUsed(request: OrganizationsInUseRequest): Promise<{ orgIds: string[] }> {
    return { orgIds: await this.records.listUsed(request) };
  }
}
