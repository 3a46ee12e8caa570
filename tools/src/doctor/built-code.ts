import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type pg from 'pg';
import type { ServiceName } from '../fleet/services.js';
import { ROOT } from '../paths.js';

/** Imports a compiled file of the repository. The launcher does not depend on the code it starts, so that it can build it. */
export const load = <T>(file: string): Promise<T> => import(pathToFileURL(path.join(ROOT, file)).href) as Promise<T>;

/** The part of a service's configuration that the checks read. */
export interface ServiceConfig {
  isProduction: boolean;
  databaseUrl: string;
  workerDatabaseUrl: string;
  migrationsDatabaseUrl?: string;
  pools: { serviceMax: number; workerMax: number };
  redisUrl: string;
  redisClusterNodes: readonly string[];
  natsUrl: string;
  publicApiUrl: string;
  publicAppUrl: string;
  jwtIssuer: string;
  jwtAudience: string;
  secrets?: { keyRing: { keys: Record<string, Buffer>; activeKid: string } };
  /** The peppers of credentials. */
  enrollmentPeppers?: { current: string };
  /** The peppers of provisioning. */
  enrollment?: { peppers: { current: string } };
}

type ReadConfig = (env: NodeJS.ProcessEnv) => ServiceConfig;

/** Returns the function with which a service reads its own environment; it throws an error with `problems`. */
export async function configReaderOf(service: ServiceName): Promise<ReadConfig> {
  const name = service.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const module = await load<Record<string, ReadConfig>>(`apps/${service}/dist/config.js`);
  const read = module[`read${name}Config`];
  if (!read) throw new Error(`apps/${service}/dist/config.js exports no read${name}Config`);
  return read;
}

type MigrationClass = new () => { name?: string };

/** Returns the names of the migrations in the build of a service, oldest first. */
export async function migrationsOf(service: ServiceName): Promise<string[]> {
  const { MIGRATIONS } = await load<{ MIGRATIONS: MigrationClass[] }>(`apps/${service}/dist/migrations/index.js`);
  return MIGRATIONS.map((migration) => new migration().name ?? migration.name);
}

interface LoginRules {
  schema: string;
  mustNotBecome?: string;
  mustActAs?: string;
}

/** Lists why a runtime login must not be used, by the rules that services apply at their start. */
export async function loginProblems(client: pg.Client, rules: LoginRules): Promise<string[]> {
  type Module = { loginProblems: (client: pg.Client, rules: LoginRules) => Promise<string[]> };
  return (await load<Module>('libs/persistence/dist/module/login-problems.js')).loginProblems(client, rules);
}

/** Lists gaps of row-level security in a schema, by the rules that the specs of the services apply. */
export async function rowSecurityProblems(client: pg.Client, schema: string): Promise<string[]> {
  type Executor = { query: (sql: string, values?: unknown[]) => Promise<unknown[]> };
  type Module = { rowSecurityProblems: (executor: Executor, schema: string) => Promise<string[]> };
  const module = await load<Module>('libs/persistence/dist/testing/row-security-problems.js');
  const query = async (sql: string, values?: unknown[]) => (await client.query(sql, values)).rows as unknown[];
  return module.rowSecurityProblems({ query }, schema);
}

export interface Durable {
  name: string;
  service: ServiceName;
  stream: string;
}

export interface Messaging {
  STREAMS: Record<string, { name: string }>;
  DURABLES: readonly Durable[];
}

export const loadMessaging = (): Promise<Messaging> => load('libs/contracts/dist/index.js');

interface NatsAddress {
  servers: string[];
  user?: string;
  pass?: string;
  inboxPrefix: string;
}

/** Returns the options with which services connect, for an address that may list several servers. */
export async function natsOptions(url: string, name: string): Promise<NatsAddress> {
  type Module = { natsOptions: (url: string, name: string) => NatsAddress };
  return (await load<Module>('libs/messaging/dist/connection/nats-options.js')).natsOptions(url, name);
}
