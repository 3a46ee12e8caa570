import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { SitesModule } from '../sites/sites.module.js';
import { PartnerProvisioningRpc } from './partner-provisioning.rpc.js';
import { PartnerProvisioningService } from './partner-provisioning.service.js';

@Module({
  imports: [OrganizationsModule, SitesModule],
  controllers: [PartnerProvisioningRpc],
  providers: [PartnerProvisioningService],
})
export class PartnerProvisioningModule {}
