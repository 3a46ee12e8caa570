import fs from 'node:fs';
import path from 'node:path';
import { FleetError, say } from '../console.js';
import { startEdge } from '../edge/edge.js';
import { startMailbox } from '../mailbox/mailbox.js';
import { ensureDir, FLEET_DIR, LOG_DIR, MAILBOX_DIR, ROOT } from '../paths.js';
import { ProcessGroup } from '../processes/process-group.js';
import { identify } from '../processes/process-record.js';
import { build, poll, run, settleAll } from '../processes/run.js';
import type { Supervision } from '../processes/supervised-process.js';
import { startPgBouncer } from '../stores/pgbouncer.js';
import type { Store } from '../stores/store.js';
import { openStores, type StoreShapes } from '../stores/stores.js';
import { prepareDatabase, setPooledDefaults } from './database.js';
import { startLogRotation } from './logs.js';
import { environmentOf, loadSecrets, natsUsers } from './service-environment.js';
import { createInstances, describeServices, hasReplacedApps, type ServiceInstance } from './services.js';
import {
  allowLocalReceivers,
  areLocalReceiversAllowed,
  emptyState,
  type FleetState,
  type FleetSummary,
  readState,
  releaseLock,
  stopOrphans,
  takeLock,
  writeState,
} from './state.js';

/** Shape of a fleet. */
export interface FleetOptions extends StoreShapes {
  replicas: Record<string, number>;
  localReceivers?: boolean;
  pooler?: boolean;
}

/** Starts everything of one fleet in order, and stops it in the opposite order. */
export class Launcher {
  private readonly state: FleetState = { ...emptyState(), phase: 'starting' };
  private group?: ProcessGroup;
  private instances: ServiceInstance[] = [];
  private readonly servers: { close(): Promise<void> }[] = [];
  closing: Promise<void> | null = null;

  constructor(private readonly options: FleetOptions) {}

  async start(): Promise<FleetSummary> {
    const requestedPort = readPort();
    takeLock();
    const { ports, externalStores } = readState();
    Object.assign(this.state, { ports, externalStores });
    await stopOrphans();
    ensureDir(MAILBOX_DIR, 0o700);
    startLogRotation();
    allowLocalReceivers(this.options.localReceivers ?? false);
    const secrets = loadSecrets(this.state);
    this.group = new ProcessGroup();
    const supervision: Supervision = { group: this.group, say, onChange: () => this.save() };
    this.save();

    const compiled = hasReplacedApps ? Promise.resolve() : build();
    const context = { ...supervision, dir: FLEET_DIR, ports, isThrowaway: false };
    const [stores] = await settleAll(openStores(context, natsUsers(secrets), this.options), compiled);
    const external = Object.values<Store>({ ...stores }).filter(({ isPrivate }) => !isPrivate);
    this.state.externalStores = external.map(({ url }) => new URL(url).host);
    const database = await prepareDatabase(stores.postgres.url, secrets.database);
    const pooler = this.options.pooler ? await startPgBouncer(context, database) : null;
    if (pooler) await setPooledDefaults(database);
    this.instances = await createInstances(supervision, this.options.replicas, ports, (service) =>
      environmentOf(service, { secrets, stores, database, pooler, portOf: (name) => ports[name] ?? 0 }),
    );
    const edge = await startEdge(this.instances, requestedPort ?? ports['edge'] ?? 8080);
    const mailbox = await startMailbox(MAILBOX_DIR, ports['mailbox'] ?? 8025);
    this.servers.push(edge, mailbox);
    Object.assign(ports, { edge: edge.port, mailbox: mailbox.port });
    this.save();
    // Services wait for the streams, so both are started together.
    say('starting the services');
    await settleAll(createStreams(stores.nats), ...this.instances.map((instance) => instance.start()));

    this.state.phase = 'ready';
    this.state.summary = {
      baseUrl: edge.url,
      docsUrl: `${edge.url}/docs`,
      accountUrl: `http://localhost:${edge.port}/account`,
      mailboxUrl: mailbox.url,
      databaseUrl: database.url,
      redisUrl: stores.redis.url,
      natsUrl: stores.nats.url,
      ...(pooler && { poolerUrl: pooler.url }),
      ...(stores.postgres.standbyUrl && { standbyUrl: stores.postgres.standbyUrl }),
      admin: { email: secrets.adminEmail, password: secrets.adminPassword },
      localReceivers: areLocalReceiversAllowed(),
      logs: path.relative(process.cwd(), LOG_DIR),
    };
    this.save();
    return this.state.summary;
  }

  close(): Promise<void> {
    return (this.closing ??= this.stopEverything());
  }

  private save(): void {
    if (this.closing) return;
    if (this.state.summary) this.state.summary.localReceivers = areLocalReceiversAllowed();
    const running = { launcher: identify(process.pid), records: this.group?.records ?? [] };
    writeState({ ...this.state, ...running, services: describeServices(this.instances) });
  }

  private async stopEverything(): Promise<void> {
    say('stopping');
    await Promise.all(this.instances.map((instance) => instance.stop()));
    await Promise.all(this.servers.map((server) => server.close()));
    await this.group?.release();
    releaseLock(this.state);
  }
}

/** Creates the JetStream streams with the one login that may, on each server; the servers of a cluster may not know each other yet. */
async function createStreams({ url, otherHosts = [] }: Store): Promise<void> {
  const script = path.join(ROOT, 'libs/messaging/dist/setup-streams.js');
  if (hasReplacedApps && !fs.existsSync(script)) return;
  const env = { NATS_ADMIN_URL: url, NATS_STREAM_REPLICAS: String(otherHosts.length + 1) };
  const create = (reject: boolean) => run(process.execPath, [script], { env, timeout: 30_000, reject });
  const isCreated = async () => !(await create(false)).failed;
  if (otherHosts.length && (await poll(isCreated, { timeoutMs: 60_000, everyMs: 500 }))) return;
  await create(true);
}

function readPort(): number | null {
  const text = process.env['FLEET_PORT'];
  if (!text) return null;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new FleetError(`FLEET_PORT must be a port number, got "${text}"`);
}
