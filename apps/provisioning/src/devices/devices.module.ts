import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { DecommissioningRepository } from './decommissioning/decommissioning.repository.js';
import { DecommissioningService } from './decommissioning/decommissioning.service.js';
import { DevicesController } from './devices.controller.js';
import { DevicesRepository } from './devices.repository.js';
import { DevicesRpc } from './devices.rpc.js';
import { DevicesService } from './devices.service.js';
import { DetectOfflineDevicesJob } from './offline/detect-offline-devices.job.js';
import { DeviceStatesRepository } from './offline/device-states.repository.js';

@Module({
  imports: [OrganizationsModule],
  controllers: [DevicesController, DevicesRpc],
  providers: [
    DevicesService,
    DevicesRepository,
    DecommissioningService,
    DecommissioningRepository,
    DeviceStatesRepository,
    DetectOfflineDevicesJob,
  ],
})
export class DevicesModule {}
