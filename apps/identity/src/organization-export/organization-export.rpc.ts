import { Controller } from '@nestjs/common';
import { IDENTITY_ORGANIZATION_EXPORT, type IdentityExportRequest, type OrganizationExportPage } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { OrganizationExportService } from './organization-export.service.js';

@Controller()
export class OrganizationExportRpc {
  constructor(private readonly exports: OrganizationExportService) {}

  @RpcHandler(IDENTITY_ORGANIZATION_EXPORT)
  page(request: IdentityExportRequest): Promise<OrganizationExportPage> {
    return this.exports.getPage(request);
  }
}
