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
import { ExportWalk, type ExportSource } from './export-walk.js';

const ORGANIZATIONS: ExportSource = {
  columns: 'r.name, r.slug, r.type, r.status',
  orgId: 'r.id',
  siteId: 'null::uuid',
  from: 'organization r join organization o on o.id = r.id',
};

/** A site carries its own id as siteId. */
const SITES: ExportSource = {
  columns: 'r.name, r.timezone, r.address, r.contact',
  orgId: 'r.org_id',
  siteId: 'r.id',
  from: 'site r join organization o on o.id = r.org_id',
};

/** What the partner interface reads, walked page by page. @see CONTRACT.md 4.4.2, 4.4.3 */
@Controller()
export class ExportRpc {
  constructor(private readonly walk: ExportWalk) {}

  @RpcHandler(PROVISIONING_EXPORT_ORGANIZATIONS)
  organizations(request: ExportRequest): Promise<ExportReply<ExportedOrganization>> {
    return this.walk.page(ORGANIZATIONS, request, ({ name, slug, type, status }: ExportedOrganization) => {
      return { name, slug, type, status };
    });
  }

  @RpcHandler(PROVISIONING_EXPORT_SITES)
  sites(request: ExportRequest): Promise<ExportReply<ExportedSite>> {
    return this.walk.page(SITES, request, ({ name, timezone, address, contact }: ExportedSite) => {
      return { name, timezone, address, contact };
    });
  }
}
