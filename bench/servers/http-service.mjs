// The service of `bench http`: our pipeline, token, guards and query validation; and one tenant row read by id.
import 'reflect-metadata';
import { Controller, Get, Param, Query } from '@nestjs/common';
import { SignJWT } from 'jose';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { __decorate, __metadata, __param } from 'tslib';
import { announce } from '../support/bench-server.mjs';
import { lib, moduleOf } from '../support/built-code.mjs';

const SERVICE = 'identity'; // the one that responses its own snapshots, so that nothing else must run
const SCHEMA = 'identity';
const { ServiceKitModule, readConfig, readFleetConfig, startService } = await lib('service-kit');
const { PageQueryDto, toPage } = await lib('validation');
const { PersistenceModule, TenantDatabase, WorkerDatabase } = await lib('persistence');
const { tenantTable } = await lib('persistence', 'testing/index.js');
const { JetStreamServer, MessagingModule } = await lib('messaging');
const { dropMessagingTables, messagingTables } = await lib('messaging', 'testing/index.js');
const { ACCESS_SOURCE, AccessModule, CurrentCaller, RequirePermission, VERIFICATION_KEYS } = await lib('access');

const partnerId = randomUUID();
const rowId = randomUUID();
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

class AddBench1 {
  name = 'AddBench1767225600000';
  async up(q) {
    await messagingTables(q);
    await q.query(`create table bench_row (
      id uuid primary key, partner_id uuid not null, org_id uuid not null, name text not null, status text not null)`);
    await tenantTable(q, {
      table: 'bench_row',
      ownership: 'organization',
      service: ['select'],
      worker: ['select', 'insert'],
    });
  }
  async down(q) {
    await q.query('drop table bench_row');
    await dropMessagingTables(q);
  }
}

const ROWS = [{ id: rowId, name: 'Blue Bakery', status: 'active' }];

class BenchController {
  constructor(tenants) {
    this.tenants = tenants;
  }
  list(query) {
    return toPage(query, ROWS.length, ROWS);
  }
  async get(caller, id) {
    const [row] = await this.tenants.read(caller, 'select id, name, status from bench_row where id = $1', [id]);
    return row;
  }
}
__decorate(
  [
    Get('list'),
    RequirePermission('organizations:read'),
    __param(0, Query()),
    __metadata('design:paramtypes', [PageQueryDto]),
  ],
  BenchController.prototype,
  'list',
  null,
);
__decorate(
  [
    Get('rows/:id'),
    RequirePermission('organizations:read'),
    __param(0, CurrentCaller()),
    __param(1, Param('id')),
    __metadata('design:paramtypes', [Object, String]),
  ],
  BenchController.prototype,
  'get',
  null,
);
const Decorated = __decorate([Controller('bench'), __metadata('design:paramtypes', [TenantDatabase])], BenchController);

const snapshot = (request) => ({
  userId: request.userId,
  email: 'bench@fleet.test',
  sessionId: request.sessionId,
  userStatus: 'active',
  sessionRevoked: false,
  authEpoch: 1,
  mfaEpoch: 1,
  passwordChangedAt: null,
  membershipExists: true,
  scope: 'partner',
  partnerId,
  partnerStatus: 'active',
  orgId: null,
  roleId: randomUUID(),
  orgAccess: 'all',
  orgIds: [],
  siteIds: null,
  deviceGroupIds: null,
  permissions: ['organizations:read'],
  hasFactor: true,
  mfaEnrollmentRequired: false,
  allowedMfaMethods: [],
  ipAllowlist: [],
  version: 1,
});

const config = readConfig(process.env, (v) => readFleetConfig(v, SERVICE));
const app = await startService({
  service: SERVICE,
  config,
  openApi: { title: 'Bench', description: 'Bench' },
  module: await moduleOf({
    imports: [
      ServiceKitModule.forRoot(config, SERVICE),
      PersistenceModule.forRoot({ config, schema: SCHEMA, entities: [], migrations: [AddBench1] }),
      MessagingModule.forRoot({ config, service: SERVICE }),
      AccessModule.forRoot({ config, service: SERVICE, organizations: 'none' }),
    ],
    controllers: [Decorated],
    providers: [
      { provide: ACCESS_SOURCE, useValue: { resolve: (request) => Promise.resolve(snapshot(request)) } },
      { provide: VERIFICATION_KEYS, useValue: { find: () => Promise.resolve(publicKey) } },
    ],
  }),
  microservices: (each) => void each.connectMicroservice({ strategy: each.get(JetStreamServer) }),
});
await app.get(WorkerDatabase).query(
  `insert into bench_row (id, partner_id, org_id, name, status)
   select case when n = 1 then $1::uuid else gen_random_uuid() end, $2, gen_random_uuid(), 'Blue Bakery', 'active'
   from generate_series(1, 20000) n`,
  [rowId, partnerId],
);

const claims = {
  email: 'bench@fleet.test',
  type: 'access',
  scope: 'partner',
  partnerId,
  orgId: null,
  roleId: randomUUID(),
  mfa: true,
  aep: 1,
  mep: 1,
  sid: randomUUID(),
};
const token = await new SignJWT(claims)
  .setProtectedHeader({ alg: 'ES256', kid: 'bench' })
  .setSubject(randomUUID())
  .setJti(randomUUID())
  .setIssuedAt()
  .setExpirationTime('1h')
  .setIssuer(config.jwtIssuer)
  .setAudience(config.jwtAudience)
  .sign(privateKey);
announce(app.getHttpServer().address().port, { token, rowId, partnerId });
