import { Module } from '@nestjs/common';
import { ContactsModule } from '../contacts/contacts.module.js';
import { DeviceGroupsModule } from '../devices/groups/device-groups.module.js';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { SitesController } from './sites.controller.js';
import { SitesRpc } from './sites.rpc.js';
import { SitesService } from './sites.service.js';

@Module({
  imports: [OrganizationsModule, ContactsModule, DeviceGroupsModule],
  controllers: [SitesController, SitesRpc],
  providers: [SitesService],
  exports: [SitesService],
})
export class SitesModule {}
