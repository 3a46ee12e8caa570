import type { INestApplication, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { connect, type NatsConnection } from 'nats';
import type pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { durablesOf, type Durable, type ServiceName } from '@rmm/contracts';
import { PersistenceModule, runMigrations, WorkerDatabase } from '@rmm/persistence';
import { readConfig, readFleetConfig, ServiceKitModule, type FleetConfig } from '@rmm/service-kit';
import {
  adminPool,
  startStores,
  type NatsOptions,
  type SchemaUrls,
  type Stores,
  type TestNats,
} from '@rmm/testing-services';
import { JetStreamServer, MessagingModule, natsOptions, type MessagingModuleOptions } from '../src/index.js';
import { dropMessagingTables, messagingTables } from '../src/testing/index.js';

/** Creates the tables of messaging, as the first migration of a service does. */
export class AddMessaging1767225600000 implements MigrationInterface {
  name = 'AddMessaging1767225600000';

  async up(q: QueryRunner): Promise<void> {
    await messagingTables(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await dropMessagingTables(q);
  }
}

/** One schema with the messaging tables, one NATS server, and services that share them. */
export interface MessagingTestApp {
  stores: Stores;
  nats: TestNats;
  urls: SchemaUrls;
  /** Superuser on the schema, for preparation and assertions. */
  admin: pg.Pool;
  /** Logged in as `fleet`. */
  connection: NatsConnection;
  /** Starts another replica of the service. */
  startService(options?: ServiceOptions): Promise<INestApplication>;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  controllers?: Type[];
  providers?: Type[];
  messaging?: Partial<MessagingModuleOptions>;
}

export const SERVICE: ServiceName = 'provisioning';

/** The durable consumers of the specs. */
export const SPEC_DURABLES: readonly Durable[] = [
  ...durablesOf(SERVICE),
  specDurable('provisioning-events', 'device.enrolled'),
  specDurable('batches-a', 'device.online'),
  specDurable('batches-b', 'device.offline'),
  specDurable('batches-c', 'device.updated'),
  specDurable('batches-d', 'device.renamed'),
  specDurable('batches-e', 'device.moved'),
  specDurable('streams-a', 'device.online'),
  specDurable('streams-b', 'device.offline'),
  specDurable('streams-c', 'device.updated'),
  specDurable('streams-d', 'device.moved'),
  specDurable('streams-e', 'device.renamed'),
  specDurable('streams-f', 'device.deleted'),
];

function specDurable(name: string, type: string): Durable {
  const headersOnly = name.startsWith('streams-');
  return {
    name,
    service: SERVICE,
    stream: 'events',
    subjects: [`rmm.events.*.${type}`],
    maxAckPending: 256,
    headersOnly,
  };
}

export async function startMessagingTestApp(natsOptionsOfApp: NatsOptions = {}): Promise<MessagingTestApp> {
  const stores = await startStores();
  const database = await stores.createDatabase(['provisioning']);
  const urls = database.urls.provisioning;
  const nats = await stores.nats(natsOptionsOfApp);
  await runMigrations({
    schema: 'provisioning',
    migrations: [AddMessaging1767225600000],
    migrationsDatabaseUrl: urls.owner,
    databaseUrl: urls.service,
    workerDatabaseUrl: urls.worker,
  });
  const admin = adminPool(database, { options: '-c search_path=provisioning' });
  await admin.query('create table effect (n bigint generated always as identity, id text, note text)');
  await admin.query(`grant all on effect to "${new URL(urls.worker).username}"`);
  const connection = await connect(natsOptions(nats.adminUrl, 'fleet'));
  const apps: INestApplication[] = [];
  return {
    stores,
    nats,
    urls,
    admin,
    connection,
    startService: async (options = {}) => {
      const app = await startApp(fleetConfig(urls, nats.url, stores.redisUrl), options);
      apps.push(app);
      return app;
    },
    stop: async () => {
      await Promise.all(apps.map((app) => app.close()));
      await connection.close();
      await admin.end();
      await stores.stop();
    },
  };
}

function fleetConfig(urls: SchemaUrls, natsUrl: string, redisUrl: string): FleetConfig {
  const env = {
    NODE_ENV: 'test',
    LOG_LEVEL: 'error',
    DATABASE_URL: urls.service,
    WORKER_DATABASE_URL: urls.worker,
    REDIS_URL: redisUrl,
    NATS_URL: natsUrl,
  };
  return readConfig(env, (v) => readFleetConfig(v, SERVICE));
}

async function startApp(config: FleetConfig, options: ServiceOptions): Promise<INestApplication> {
  const module = await Test.createTestingModule({
    imports: [
      ServiceKitModule.forRoot(config, SERVICE),
      PersistenceModule.forRoot({
        config,
        schema: 'provisioning',
        entities: [],
        migrations: [AddMessaging1767225600000],
      }),
      MessagingModule.forRoot({
        config,
        service: SERVICE,
        startWithinMs: 10_000,
        durables: SPEC_DURABLES,
        ...options.messaging,
      }),
    ],
    controllers: options.controllers,
    providers: options.providers,
  }).compile();
  const app = module.createNestApplication({ logger: false });
  app.connectMicroservice({ strategy: app.get(JetStreamServer) });
  await app.init();
  await app.startAllMicroservices();
  return app;
}

/** Returns the stored messages of a stream, oldest first. */
export async function storedMessages(
  connection: NatsConnection,
  stream: string,
): Promise<{ subject: string; id: string; body: Record<string, unknown> }[]> {
  const manager = await connection.jetstreamManager();
  const { state } = await manager.streams.info(stream);
  const found = [];
  for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq++) {
    const message = await manager.streams.getMessage(stream, { seq });
    const body = message.json<Record<string, unknown>>();
    found.push({ subject: message.subject, id: message.header.get('Nats-Msg-Id'), body });
  }
  return found;
}

export const workerOf = (app: INestApplication): WorkerDatabase => app.get(WorkerDatabase);
