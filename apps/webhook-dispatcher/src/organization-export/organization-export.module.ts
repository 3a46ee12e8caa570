import { Module } from '@nestjs/common';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { OrganizationExportRpc } from './organization-export.rpc.js';

@Module({ imports: [WebhooksModule], controllers: [OrganizationExportRpc] })
export class OrganizationExportModule {}
