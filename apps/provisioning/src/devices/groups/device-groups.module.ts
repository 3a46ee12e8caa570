import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../organizations/organizations.module.js';
import { DeviceGroupsController } from './device-groups.controller.js';
import { DeviceGroupsRepository } from './device-groups.repository.js';
import { DeviceGroupsRpc } from './device-groups.rpc.js';
import { DeviceGroupsService } from './device-groups.service.js';

@Module({
  imports: [OrganizationsModule],
  controllers: [DeviceGroupsController, DeviceGroupsRpc],
  providers: [DeviceGroupsService, DeviceGroupsRepository],
  exports: [DeviceGroupsRepository],
})
export class DeviceGroupsModule {}
