import type { INestApplication, Provider, Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { ServiceName } from '@rmm/contracts';
import { JetStreamServer, MessagingModule } from '@rmm/messaging';
import { dropMessagingTables, messagingTables } from '@rmm/messaging/testing';
import { PersistenceModule } from '@rmm/persistence';
import {
  Clock,
  configureApp,
  type FleetConfig,
  HealthRegistry,
  readConfig,
  readFleetConfig,
  ServiceKitModule,
} from '@rmm/service-kit';
import { startStores, type Stores, type TestDatabase, type TestNats } from '@rmm/testing-services';
import { AccessModule } from '../src/access.module.js';
import {
  dropOrganizationDirectoryTable,
  organizationDirectoryTable,
} from '../src/directory/organization-directory-table.js';
import { dropPartnerDirectoryTable, partnerDirectoryTable } from '../src/directory/partner-directory-table.js';

/** Creates the tables of messaging and access, as the first migration of a service does. */
export class AddAccess1767225600000 implements MigrationInterface {
  name = 'AddAccess1767225600000';

  async up(q: QueryRunner): Promise<void> {
    await messagingTables(q);
    await organizationDirectoryTable(q);
    await partnerDirectoryTable(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await dropPartnerDirectoryTable(q);
    await dropOrganizationDirectoryTable(q);
    await dropMessagingTables(q);
  }
}

/** Real time plus an offset that a spec increases. */
export class AdjustableClock extends Clock {
  private aheadMs = 0;

  override nowMs(): number {
    return Date.now() + this.aheadMs;
  }

  override monotonicMs(): number {
    return performance.now() + this.aheadMs;
  }

  advance(byMs: number): void {
    this.aheadMs += byMs;
  }
}

const SCHEMAS = ['identity', 'credentials', 'provisioning', 'webhook_dispatcher'] as const;
type Schema = (typeof SCHEMAS)[number];
const schemaOf = (service: ServiceName) => service.replace('-', '_') as Schema;

export interface ServiceParts {
  controllers?: Type[];
  providers?: Provider[];
  jwksUrl?: string;
  clock?: Clock;
}

/** Runs several services on one set of stores, each with its own schema and its NATS login of production. */
export class AccessTestCluster {
  private readonly apps: INestApplication[] = [];

  private constructor(
    readonly stores: Stores,
    readonly database: TestDatabase<Schema>,
    readonly nats: TestNats,
  ) {}

  static async start(): Promise<AccessTestCluster> {
    const stores = await startStores();
    const [database, nats] = await Promise.all([stores.createDatabase(SCHEMAS), stores.nats()]);
    return new AccessTestCluster(stores, database, nats);
  }

  /** Starts one more service, or one more replica of it. */
  async service(service: ServiceName, parts: ServiceParts = {}): Promise<INestApplication> {
    const config = this.config(service);
    const builder = Test.createTestingModule({
      imports: [
        ServiceKitModule.forRoot(config, service),
        PersistenceModule.forRoot({
          config,
          schema: schemaOf(service),
          entities: [],
          migrations: [AddAccess1767225600000],
        }),
        MessagingModule.forRoot({ config, service, startWithinMs: 10_000 }),
        AccessModule.forRoot({ config: { ...config, jwksUrl: parts.jwksUrl }, service }),
      ],
      controllers: parts.controllers,
      providers: parts.providers,
    });
    if (parts.clock) builder.overrideProvider(Clock).useValue(parts.clock);
    const module = await builder.compile();
    const app = module.createNestApplication<NestExpressApplication>({ bodyParser: false, logger: false });
    configureApp(app, { config, openApi: { title: service, description: service } });
    app.connectMicroservice({ strategy: app.get(JetStreamServer) });
    try {
      await app.init();
      await app.startAllMicroservices();
    } catch (error) {
      await app.close();
      throw error;
    }
    app.get(HealthRegistry).state = 'ready';
    this.apps.push(app);
    return app;
  }

  /** Stops one service, cleanly. */
  async end(app: INestApplication): Promise<void> {
    this.apps.splice(this.apps.indexOf(app), 1);
    await app.close();
  }

  async stop(): Promise<void> {
    await Promise.all(this.apps.map((app) => app.close()));
    await this.stores.stop();
  }

  private config(service: ServiceName): FleetConfig {
    const { owner, service: login, worker } = this.database.urls[schemaOf(service)];
    const env = {
      NODE_ENV: 'test',
      LOG_LEVEL: process.env.SPEC_LOG_LEVEL ?? 'error',
      MIGRATIONS_DATABASE_URL: owner,
      DATABASE_URL: login,
      WORKER_DATABASE_URL: worker,
      REDIS_URL: this.stores.redisUrl,
      NATS_URL: this.nats.url,
      PUBLIC_APP_URL: 'https://app.example',
      TRUSTED_PROXY_CIDRS: '127.0.0.0/8,::1',
      GLOBAL_RATE_LIMIT_PER_MINUTE: '100000',
    };
    return readConfig(env, (v) => readFleetConfig(v, service));
  }
}
