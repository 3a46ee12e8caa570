import { type DynamicModule, Module } from '@nestjs/common';
import { AccessModule } from '@rmm/access';
import { MessagingModule } from '@rmm/messaging';
import { PersistenceModule } from '@rmm/persistence';
import { ServiceKitModule } from '@rmm/service-kit';
import { PARTNER_GATEWAY_CONFIG, type PartnerGatewayConfig } from './config.js';
import { CurrentKeyModule } from './current-key/current-key.module.js';
import { DocsModule } from './docs/docs.module.js';
import { ExportModule } from './export/export.module.js';
import { McpModule } from './mcp/mcp.module.js';
import { MIGRATIONS } from './migrations/index.js';
import { WritesModule } from './writes/writes.module.js';

@Module({})
export class AppModule {
  static forRoot(config: PartnerGatewayConfig): DynamicModule {
    const service = 'partner-gateway';
    return {
      module: AppModule,
      global: true,
      imports: [
        ServiceKitModule.forRoot(config, service),
        PersistenceModule.forRoot({ config, schema: 'partner_gateway', entities: [], migrations: MIGRATIONS }),
        MessagingModule.forRoot({ config, service }),
        AccessModule.forRoot({ config, service }),
        ExportModule,
        CurrentKeyModule,
        WritesModule,
        McpModule,
        DocsModule,
      ],
      providers: [{ provide: PARTNER_GATEWAY_CONFIG, useValue: config }],
      exports: [PARTNER_GATEWAY_CONFIG],
    };
  }
}
