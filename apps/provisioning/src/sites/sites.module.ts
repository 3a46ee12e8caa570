import { Module } from '@nestjs/common';
import { DeviceGroupsModule } from '../devices/groups/device-groups.module.js';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { SitesController } from './sites.controller.js';
import { SitesRpc } from './sites.rpc.js';
import { SitesService } from './sites.service.js';

@Module({
  imports: [OrganizationsModule, DeviceGroupsModule],
  controllers: [SitesController, SitesRpc],
  providers: [SitesService],
})
export class SitesModule {}
