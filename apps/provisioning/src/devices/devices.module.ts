import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { PartnersModule } from '../partners/partners.module.js';
import { BulkDevicesController } from './bulk/bulk-devices.controller.js';
import { BulkDevicesRepository } from './bulk/bulk-devices.repository.js';
import { BulkDevicesService } from './bulk/bulk-devices.service.js';
import { DeviceChangesRepository } from './changes/device-changes.repository.js';
import { DeviceChangesService } from './changes/device-changes.service.js';
import { DecommissioningRepository } from './decommissioning/decommissioning.repository.js';
import { DecommissioningService } from './decommissioning/decommissioning.service.js';
import { DevicesController } from './devices.controller.js';
import { DevicesRepository } from './devices.repository.js';
import { DevicesRpc } from './devices.rpc.js';
import { DevicesService } from './devices.service.js';
import { DeviceDuplicatesController } from './duplicates/device-duplicates.controller.js';
import { DeviceDuplicatesRepository } from './duplicates/device-duplicates.repository.js';
import { DeviceDuplicatesService } from './duplicates/device-duplicates.service.js';
import { DeviceGroupsModule } from './groups/device-groups.module.js';
import { DetectOfflineDevicesJob } from './offline/detect-offline-devices.job.js';
import { DeviceStatesRepository } from './offline/device-states.repository.js';
import { PostureController } from './posture/posture.controller.js';
import { PostureRepository } from './posture/posture.repository.js';
import { PostureService } from './posture/posture.service.js';
import { DeviceProvisioningController } from './provision/device-provisioning.controller.js';
import { DeviceProvisioningService } from './provision/device-provisioning.service.js';
import { DeviceProvisionsRepository } from './provision/device-provisions.repository.js';

@Module({
  imports: [OrganizationsModule, PartnersModule, DeviceGroupsModule],
  controllers: [
    DeviceProvisioningController,
    BulkDevicesController,
    DeviceDuplicatesController,
    PostureController,
    DevicesController,
    DevicesRpc,
  ],
  providers: [
    DevicesService,
    DevicesRepository,
    DecommissioningService,
    DeviceChangesRepository,
    DeviceChangesService,
    DecommissioningRepository,
    DeviceProvisioningService,
    DeviceProvisionsRepository,
    BulkDevicesService,
    BulkDevicesRepository,
    DeviceDuplicatesService,
    DeviceDuplicatesRepository,
    DeviceStatesRepository,
    DetectOfflineDevicesJob,
    PostureRepository,
    PostureService,
  ],
  exports: [DevicesService, DeviceChangesService, PostureService],
})
export class DevicesModule {}
