import { Controller } from '@nestjs/common';
import { tenantOf, toExportPage } from '@rmm/access';
import {
  WEBHOOK_DISPATCHER_ORGANIZATION_EXPORT,
  type OrganizationExportPage,
  type WebhookExportRequest,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { WebhookMapper } from '../webhooks/webhook.mapper.js';
import { WebhooksRepository } from '../webhooks/webhooks.repository.js';

/** More webhooks than an organization may have. */
const ALL = { page: 1, limit: 200 };

/** Serves the part of the dispatcher in the export of an organization: its webhooks, with masked secrets. */
@Controller()
export class OrganizationExportRpc {
  constructor(
    private readonly webhooks: WebhooksRepository,
    private readonly mapper: WebhookMapper,
  ) {}

  @RpcHandler(WEBHOOK_DISPATCHER_ORGANIZATION_EXPORT)
  async page({ caller, orgId, partnerId, after }: WebhookExportRequest): Promise<OrganizationExportPage> {
    const { rows } = await this.webhooks.list(tenantOf(caller), { orgId, page: ALL });
    const own = rows.filter((row) => row.partnerId === partnerId);
    const rest = own.slice(own.findIndex(({ id }) => id === after) + 1);
    return toExportPage(
      rest.map((row) => this.mapper.toDto(row)),
      ({ id }) => id,
    );
  }
}
