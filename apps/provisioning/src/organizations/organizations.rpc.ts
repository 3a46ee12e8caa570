import { Controller } from '@nestjs/common';
import {
  PROVISIONING_ORGANIZATIONS_ENSURE_FIRST,
  PROVISIONING_ORGANIZATIONS_GET,
  PROVISIONING_ORGANIZATIONS_LIST_SINCE,
  type ListSinceRequest,
  type OrganizationState,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { FirstOrganization, type FirstOrganizationOrder, type FirstOrganizationReply } from './first-organization.js';
import { OrganizationDirectoryRepository } from './organization-directory.repository.js';

/** What other services ask about organizations. */
@Controller()
export class OrganizationsRpc {
  constructor(
    private readonly directory: OrganizationDirectoryRepository,
    private readonly firstOrganization: FirstOrganization,
    private readonly worker: WorkerDatabase,
  ) {}

  @RpcHandler(PROVISIONING_ORGANIZATIONS_GET)
  async get({ orgIds }: { orgIds: string[] }): Promise<{ organizations: OrganizationState[] }> {
    return { organizations: await this.directory.get(orgIds) };
  }

  @RpcHandler(PROVISIONING_ORGANIZATIONS_LIST_SINCE)
  listSince(request: ListSinceRequest): Promise<{ organizations: OrganizationState[]; next: string | null }> {
    return this.directory.listSince(request);
  }

  /** Identity asks at sign-up and shows the result in the caller's next request. */
  @RpcHandler(PROVISIONING_ORGANIZATIONS_ENSURE_FIRST)
  ensureFirst(order: FirstOrganizationOrder): Promise<FirstOrganizationReply> {
    return this.worker.transaction((tx) => this.firstOrganization.ensure(tx, order));
  }
}
