import { Controller } from '@nestjs/common';
import { tenantOf } from '@rmm/access';
import { PROVISIONING_DEVICE_GROUPS_EXISTING, type RpcReply, type RpcRequest } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { DeviceGroupsRepository } from './device-groups.repository.js';

type Contract = typeof PROVISIONING_DEVICE_GROUPS_EXISTING;

/** Serves identity, which restricts members to device groups. */
@Controller()
export class DeviceGroupsRpc {
  constructor(private readonly groups: DeviceGroupsRepository) {}

  @RpcHandler(PROVISIONING_DEVICE_GROUPS_EXISTING)
  async listExisting({ caller, orgId, deviceGroupIds }: RpcRequest<Contract>): Promise<RpcReply<Contract>> {
    return { deviceGroupIds: await this.groups.listLiveIds(tenantOf(caller), orgId, deviceGroupIds) };
  }
}
