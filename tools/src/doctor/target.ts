import fs from 'node:fs';
import { parseEnv } from 'node:util';
import { FleetError } from '../console.js';
import { fleetDatabase } from '../fleet/database.js';
import { environmentOf, loadSecrets } from '../fleet/service-environment.js';
import { SERVICE_NAMES, type ServiceName } from '../fleet/services.js';
import { getRunningFleet } from '../fleet/state.js';

export interface ServiceTarget {
  name: ServiceName;
  env: NodeJS.ProcessEnv;
  /** Addresses of its instances; empty when they are not known from here. */
  instances: string[];
}

/** The checked fleet: the running one of the data folder, or a deployment described by variables. */
export interface Target {
  services: ServiceTarget[];
  /** A NATS login that may read streams and consumers. */
  natsAdminUrl?: string;
}

export interface TargetOptions {
  /** `[service=]file` */
  env: string[];
  service: ServiceName[];
  /** `service=address` */
  at: string[];
}

/** @throws FleetError when no fleet runs and no variables are named, or a file cannot be read */
export function findTarget(options: TargetOptions): Target {
  return options.env.length || options.service.length ? deployedTarget(options) : runningTarget();
}

/** The environment is computed as the launcher does it, with the variables of this shell. */
function runningTarget(): Target {
  const fleet = getRunningFleet();
  const { summary, services, ports, records } = fleet;
  const secrets = loadSecrets(fleet);
  const store = (name: string, url: string) => ({
    url,
    isPrivate: records.some((one) => one.name === `store:${name}`),
  });
  const context = {
    secrets,
    stores: {
      postgres: store('postgres', summary.databaseUrl),
      redis: store('redis', summary.redisUrl),
      nats: store('nats', summary.natsUrl),
    },
    database: fleetDatabase(summary.databaseUrl, secrets.database),
    portOf: (name: string) => ports[name] ?? 0,
  };
  return {
    natsAdminUrl: summary.natsUrl,
    services: services.map(({ name, instances }) => ({
      name,
      env: environmentOf(name, context),
      instances: instances.map(({ port }) => `http://127.0.0.1:${port}`),
    })),
  };
}

/** A file without a service applies to all; what a service's own file or the process environment sets comes last. */
function deployedTarget({ env, service, at }: TargetOptions): Target {
  const files = env.map((entry) => splitEntry(entry));
  const addresses = at.map((entry) => splitEntry(entry));
  const named = [...files, ...addresses].flatMap(([name]) => name ?? []);
  const services = SERVICE_NAMES.filter((name) => service.includes(name) || named.includes(name));
  if (!services.length) {
    throw new FleetError('Name the services of these variables: --env identity=FILE, or --env FILE --service identity');
  }
  const fileOf = (file: string) => {
    if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) throw new FleetError(`There is no file ${file}.`);
    return parseEnv(fs.readFileSync(file, 'utf8'));
  };
  const shared = Object.assign({}, ...files.filter(([name]) => !name).map(([, file]) => fileOf(file))) as object;
  const own = env.length ? {} : process.env;
  const targets = services.map((name) => ({
    name,
    env: Object.assign({ ...shared, ...own }, ...ownFiles(files, name).map(fileOf)) as NodeJS.ProcessEnv,
    instances: addresses.filter(([of]) => of === name).map(([, url]) => url.replace(/\/+$/, '')),
  }));
  return { services: targets, natsAdminUrl: targets.find(({ env }) => env['NATS_ADMIN_URL'])?.env['NATS_ADMIN_URL'] };
}

const ownFiles = (files: readonly Entry[], name: ServiceName) =>
  files.filter(([of]) => of === name).map(([, file]) => file);

type Entry = [service: ServiceName | null, value: string];

function splitEntry(entry: string): Entry {
  const [, name = '', value = ''] = /^([a-z-]+)=(.+)$/.exec(entry) ?? [];
  return (SERVICE_NAMES as readonly string[]).includes(name) ? [name as ServiceName, value] : [null, entry];
}
