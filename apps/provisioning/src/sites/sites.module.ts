import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { SitesController } from './sites.controller.js';
import { SitesRpc } from './sites.rpc.js';
import { SitesService } from './sites.service.js';

@Module({
  imports: [OrganizationsModule],
  controllers: [SitesController, SitesRpc],
  providers: [SitesService],
})
export class SitesModule {}
