// The service of `bench api-key`: one route without a guard, behind our API key authenticator, and the textbook way, once with TypeORM
// as most Nest applications have it and once with prepared statements.
import 'reflect-metadata';
import { Controller, Get, UseGuards } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { __decorate, __metadata, __param } from 'tslib';
import { announce } from '../support/bench-server.mjs';
import { lib, moduleOf } from '../support/built-code.mjs';
import { BenchKeys, KEY_TABLE, OrmKeys } from '../support/key-table.mjs';

const SERVICE = 'credentials'; // publishes its own heartbeat and may record uses
const HOUR_SECONDS = 3_600;
const pg = createRequire(import.meta.url)('pg');
const { Redis } = createRequire(import.meta.url)('ioredis');
const { RedisConnections, ServiceKitModule, currentContext, readConfig, readFleetConfig, startService } =
  await lib('service-kit');
const { PersistenceModule, WorkerDatabase } = await lib('persistence');
const { tenantTable } = await lib('persistence', 'testing/index.js');
const { Broadcasts, JetStreamServer, MessagingModule } = await lib('messaging');
const { dropMessagingTables, messagingTables } = await lib('messaging', 'testing/index.js');
const { AcceptsApiKey, AccessModule, HeartbeatPublisher, KEY_SOURCE, KeyWindow, Public } = await lib('access');
const { KEY_WINDOW_SCRIPT } = await lib('access', 'keys/key-window-script.js');
const { CREDENTIALS_KEYS_RECORD_USAGE } = await lib('contracts');

// Counts what is sent to the stores: statements of a request, and commands to Redis.
const sent = { statements: 0, commands: 0 };
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function counted(...args) {
  if (currentContext()?.ipAddress !== undefined) sent.statements += 1;
  return query.apply(this, args);
};
const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function counted(...args) {
  sent.commands += 1;
  return sendCommand.apply(this, args);
};

class AddBenchKeys1 {
  name = 'AddBenchKeys1767225600000';
  async up(q) {
    await messagingTables(q);
    await q.query(KEY_TABLE);
    await tenantTable(q, { table: 'bench_key', ownership: 'worker-only', service: [], worker: ['select', 'update'] });
  }
  async down(q) {
    await q.query('drop table bench_key');
    await dropMessagingTables(q);
  }
}

const ROW = { id: '5b1f6a1e-6a55-4f5b-9d2a-3a0f0f3f3a11', name: 'Blue Bakery', customFields: { Floor: 3, Rack: 'B' } };

/** Hash, one look-up, one call to Redis, one update, for each request. */
class TextbookGuard {
  constructor(keys, redis) {
    this.keys = keys;
    this.redis = redis;
  }
  async canActivate(context) {
    const key = context.switchToHttp().getRequest().headers['x-bench-key'];
    const record = await this.keys.find(createHash('sha256').update(key).digest());
    if (!record || record.status !== 'active') return false;
    const window = `textbook:{${record.keyId}}`;
    const [accepted, remaining, reset] = await this.charge([`${window}:cells`, `${window}:total`], record.rateLimit);
    if (accepted !== 1) return false;
    const response = context.switchToHttp().getResponse();
    response.setHeader('X-RateLimit-Limit', record.rateLimit);
    response.setHeader('X-RateLimit-Remaining', remaining);
    response.setHeader('X-RateLimit-Reset', reset);
    await this.keys.countUse(record.keyId);
    return true;
  }
  async charge(names, limit) {
    this.sha ??= await this.redis.shared.script('LOAD', KEY_WINDOW_SCRIPT);
    return this.redis.shared.evalsha(this.sha, 2, ...names, HOUR_SECONDS, 0, limit);
  }
}
const textbook = (Keys) => {
  class Guard extends TextbookGuard {}
  return __decorate([__metadata('design:paramtypes', [Keys, RedisConnections])], Guard);
};
const Textbook = textbook(OrmKeys);
const Prepared = textbook(BenchKeys);

class BenchController {
  constructor(keys) {
    this.keys = keys;
  }
  open() {
    return ROW;
  }
  guarded() {
    return ROW;
  }
  textbook() {
    return ROW;
  }
  prepared() {
    return ROW;
  }
  async recordUsage({ uses }) {
    return { recorded: await this.keys.countUses(uses) };
  }
}
const route = (name, ...decorators) => __decorate([Get(name), ...decorators], BenchController.prototype, name, null);
route('open', Public());
route('guarded', AcceptsApiKey('devices:read'));
route('textbook', Public(), UseGuards(Textbook));
route('prepared', Public(), UseGuards(Prepared));
__decorate(
  [MessagePattern(CREDENTIALS_KEYS_RECORD_USAGE.subject), __param(0, Payload())],
  BenchController.prototype,
  'recordUsage',
  null,
);
// A prefix outside the limit of an address, as all routes for keys are.
const Decorated = __decorate([Controller('mcp'), __metadata('design:paramtypes', [BenchKeys])], BenchController);

const config = readConfig(process.env, (v) => readFleetConfig(v, SERVICE));
const access = AccessModule.forRoot({ config, service: SERVICE, organizations: 'none' });
const app = await startService({
  service: SERVICE,
  config,
  openApi: { title: 'Bench', description: 'Bench' },
  module: await moduleOf({
    imports: [
      ServiceKitModule.forRoot(config, SERVICE),
      PersistenceModule.forRoot({ config, schema: SERVICE, entities: [], migrations: [AddBenchKeys1] }),
      MessagingModule.forRoot({ config, service: SERVICE }),
      access,
    ],
    controllers: [Decorated],
    providers: [
      { provide: BenchKeys, inject: [WorkerDatabase], useFactory: (worker) => new BenchKeys(worker) },
      { provide: KEY_SOURCE, inject: [BenchKeys], useFactory: (keys) => ({ resolve: (hash) => keys.find(hash) }) },
      {
        provide: OrmKeys,
        useFactory: () => OrmKeys.connect(config.workerDatabaseUrl, SERVICE, Number(process.env.DB_POOL_MAX)),
      },
      Textbook,
      Prepared,
    ],
  }),
  // Uses are recorded by others than the process that is measured, as credentials does it for a service.
  microservices: (each) => {
    if (process.argv[2] === 'records') each.connectMicroservice({ strategy: each.get(JetStreamServer) });
  },
});
new HeartbeatPublisher(app.get(Broadcasts), 'access.heartbeat').onApplicationBootstrap();

process.on('message', (message) => {
  if (message.offsetSeconds === undefined) return;
  app.get(KeyWindow).clockOffsetSeconds = message.offsetSeconds;
  process.send({ moved: true });
});
announce(app.getHttpServer().address().port, {}, { sent: () => ({ ...sent }) });
