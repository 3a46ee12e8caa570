import { Injectable } from '@nestjs/common';
import { assertDevice, type Caller } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { assertIfMatch, type DoneDto } from '@rmm/service-kit';
import { agentsChanged, decommissioned } from '../device.events.js';
import { toDeviceDto } from '../device.mapper.js';
import { DevicesRepository } from '../devices.repository.js';
import { DecommissioningRepository } from './decommissioning.repository.js';

/** Takes devices out of use: their agents are refused at once and they no longer count for caps. */
@Injectable()
export class DecommissioningService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly decommissioning: DecommissioningRepository,
    private readonly devices: DevicesRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Decommissions a device; one that is decommissioned already stays as it is. Messages come before the change, so that
   * the counter of the partner is locked for the last statements only.
   * @throws NotFoundError, RecordChanged; SiteAccessDenied  for a restricted caller
   */
  decommission(caller: Caller, id: string): Promise<DoneDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const device = await this.decommissioning.lock(tx, caller, id);
      assertDevice(caller, device);
      await assertIfMatch(async () => toDeviceDto(await this.devices.get(tx, id)));
      if (device.isDecommissioned) return { success: true };
      const { hostname, orgId, partnerId } = device;
      await this.outbox.publish(tx, [decommissioned(caller, device), agentsChanged({ deviceIds: [id] }, device)]);
      await this.audit.record(tx, caller, 'device.decommission', {
        type: 'device',
        id,
        name: hostname,
        orgId,
        partnerId,
      });
      await this.decommissioning.decommission(tx, [id]);
      return { success: true };
    });
  }
}
