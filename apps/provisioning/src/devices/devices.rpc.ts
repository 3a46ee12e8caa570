import { Controller } from '@nestjs/common';
import { PROVISIONING_DEVICES_EXISTING, type RpcReply, type RpcRequest } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { DevicesRepository } from './devices.repository.js';

/** Serves credentials, which settles reservations that were not confirmed by whether their device exists. */
@Controller()
export class DevicesRpc {
  constructor(private readonly devices: DevicesRepository) {}

  @RpcHandler(PROVISIONING_DEVICES_EXISTING)
  async listExisting({
    deviceIds,
  }: RpcRequest<typeof PROVISIONING_DEVICES_EXISTING>): Promise<RpcReply<typeof PROVISIONING_DEVICES_EXISTING>> {
    return { existing: await this.devices.listExisting(deviceIds) };
  }
}
