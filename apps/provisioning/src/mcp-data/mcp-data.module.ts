import { Module } from '@nestjs/common';
import { CustomFieldsModule } from '../devices/custom-fields/custom-fields.module.js';
import { DevicesModule } from '../devices/devices.module.js';
import { ScriptsModule } from '../scripts/scripts.module.js';
import { SitesModule } from '../sites/sites.module.js';
import { AutomationsRepository } from './automations.repository.js';
import { McpDataRpc } from './mcp-data.rpc.js';
import { McpDataService } from './mcp-data.service.js';

@Module({
  imports: [CustomFieldsModule, DevicesModule, ScriptsModule, SitesModule],
  controllers: [McpDataRpc],
  providers: [McpDataService, AutomationsRepository],
})
export class McpDataModule {}
