import { Controller } from '@nestjs/common';
import { toExportPage } from '@rmm/access';
import {
  CREDENTIALS_ORGANIZATION_EXPORT,
  type CredentialsExportRequest,
  type OrganizationExportPage,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { OrganizationExportRepository } from './organization-export.repository.js';

/** Serves the part of credentials in the export of an organization. */
@Controller()
export class OrganizationExportRpc {
  constructor(private readonly records: OrganizationExportRepository) {}

  @RpcHandler(CREDENTIALS_ORGANIZATION_EXPORT)
  async page(request: CredentialsExportRequest): Promise<OrganizationExportPage> {
    return toExportPage(await this.records.list(request), ({ id }) => id);
  }
}
