import { Controller } from '@nestjs/common';
import {
  PROVISIONING_EXPORT_ORGANIZATIONS,
  PROVISIONING_EXPORT_SITES,
  type ExportedOrganization,
  type ExportedSite,
  type ExportReply,
  type ExportRequest,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { ExportService } from './export.service.js';

/** Serves the partner API of partner-gateway. */
@Controller()
export class ExportRpc {
  constructor(private readonly exports: ExportService) {}

  @RpcHandler(PROVISIONING_EXPORT_ORGANIZATIONS)
  listOrganizations(request: ExportRequest): Promise<ExportReply<ExportedOrganization>> {
    return this.exports.listOrganizations(request);
  }

  @RpcHandler(PROVISIONING_EXPORT_SITES)
  listSites(request: ExportRequest): Promise<ExportReply<ExportedSite>> {
    return this.exports.listSites(request);
  }
}
