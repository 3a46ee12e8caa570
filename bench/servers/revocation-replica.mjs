// A replica of `bench revoke`: one route for keys, whose records come from credentials.
import 'reflect-metadata';
import { Controller, Get } from '@nestjs/common';
import { __decorate } from 'tslib';
import { announce } from '../support/bench-server.mjs';
import { lib, moduleOf } from '../support/built-code.mjs';

const SERVICE = 'provisioning';
const { ServiceKitModule, readConfig, readFleetConfig, startService } = await lib('service-kit');
const { PersistenceModule } = await lib('persistence');
const { MessagingModule } = await lib('messaging');
const { dropMessagingTables, messagingTables } = await lib('messaging', 'testing/index.js');
const { AcceptsApiKey, AccessModule } = await lib('access');

class AddMessaging1 {
  name = 'AddMessaging1767225600000';
  up = messagingTables;
  down = dropMessagingTables;
}

class BenchController {
  guarded() {
    return { accepted: true };
  }
}
__decorate([Get('guarded'), AcceptsApiKey('devices:read')], BenchController.prototype, 'guarded', null);
const Decorated = __decorate([Controller('mcp')], BenchController);

const config = readConfig(process.env, (v) => readFleetConfig(v, SERVICE));
const app = await startService({
  service: SERVICE,
  config,
  openApi: { title: 'Bench', description: 'Bench' },
  module: await moduleOf({
    imports: [
      ServiceKitModule.forRoot(config, SERVICE),
      PersistenceModule.forRoot({ config, schema: SERVICE, entities: [], migrations: [AddMessaging1] }),
      MessagingModule.forRoot({ config, service: SERVICE }),
      AccessModule.forRoot({ config, service: SERVICE, organizations: 'none' }),
    ],
    controllers: [Decorated],
  }),
});
announce(app.getHttpServer().address().port);
