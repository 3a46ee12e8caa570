import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { DevicesController } from './devices.controller.js';
import { DevicesRepository } from './devices.repository.js';
import { DevicesRpc } from './devices.rpc.js';
import { DevicesService } from './devices.service.js';

@Module({
  imports: [OrganizationsModule],
  controllers: [DevicesController, DevicesRpc],
  providers: [DevicesService, DevicesRepository],
})
export class DevicesModule {}
