import path from 'node:path';
import { startEdge } from '../edge/edge.mjs';
import { Failure } from '../failure.mjs';
import { startMailbox } from '../mailbox/mailbox.mjs';
import { makeDir } from '../paths.mjs';
import { buildServices } from '../prepare/build.mjs';
import { installDependencies } from '../prepare/install.mjs';
import { isAlive, startOf } from '../processes/identity.mjs';
import { Keeper } from '../processes/keeper.mjs';
import { stopAll } from '../processes/stop.mjs';
import { StoreContext } from '../stores/context.mjs';
import { discover } from '../stores/discover.mjs';
import { allOrFirstError } from '../processes/wait.mjs';
import { claimNats, claimRedis } from './claim.mjs';
import { startControl } from './control.mjs';
import { prepareDatabase } from './database.mjs';
import { FLEET_DIR, LOG_DIR, MAILBOX_DIR } from './layout.mjs';
import { holdsLock, releaseLock, takeLock } from './lock.mjs';
import { rotateLogs } from './logs.mjs';
import { authorizationFor, natsUrls } from './nats-logins.mjs';
import { StoreRevival } from './store-revival.mjs';
import { prepareStreams } from './streams.mjs';
import { keptSecrets } from './secrets.mjs';
import { environmentOf } from './service-environment.mjs';
import { usesOwnApps } from './services.mjs';
import { readState, writeState } from './state.mjs';
import { Supervisor } from './supervisor.mjs';

/** The life of one fleet: everything that `up` starts, in order, and its end in the opposite order. */
export class Launcher {
  #state = { phase: 'starting', ports: {} };
  #closing = null;
  #servers = [];

  /** @param {{ say: Function, step: Function, replicas: Record<string, number>, localReceivers: boolean }} options */
  constructor({ say, step, replicas, localReceivers }) {
    Object.assign(this, { say, step, replicas, localReceivers });
  }

  /** @returns {Promise<object>} what `status --json` prints */
  async start() {
    wishedPort(); // a wrong one is said at once
    takeLock();
    const earlier = readState();
    await this.#stopLeftOvers(earlier);
    this.#state.ports = earlier.ports ?? {};
    for (const dir of [LOG_DIR, MAILBOX_DIR]) makeDir(dir, 0o700);
    rotateLogs();
    this.revival = new StoreRevival({ say: this.say, changed: () => this.#save() });
    this.keeper = new Keeper({ onEnd: (name, how) => this.revival.noticeEnd(name, how) });
    this.secrets = keptSecrets();
    this.#save();

    const dependencies = installDependencies(this.step);
    dependencies.catch(() => {}); // reported by the awaits below
    const [stores] = await allOrFirstError([this.#stores(dependencies), dependencies.then(() => this.#build())]);
    await this.#services(stores);
    this.#state.phase = 'ready';
    this.#state.summary = this.#summary(stores);
    this.#save();
    return this.#state.summary;
  }

  get isClosing() {
    return this.#closing !== null;
  }

  /** Stops everything, services before stores. Calling it twice waits for the first. */
  close() {
    this.#closing ??= this.#stopEverything();
    return this.#closing;
  }

  async #stopLeftOvers({ records = [] }) {
    const left = records.filter(isAlive);
    if (!left.length) return;
    this.say(`stopping what an earlier run left: ${left.map(({ name }) => name.replace('store:', '')).join(', ')}`);
    const isStore = ({ name }) => name.startsWith('store:');
    await stopAll(left.filter((record) => !isStore(record)));
    await stopAll(left.filter(isStore));
  }

  async #build() {
    if (!usesOwnApps) await buildServices(this.step);
  }

  async #stores(dependencies) {
    const context = new StoreContext({ dir: FLEET_DIR, keeper: this.keeper, say: this.say, ports: this.#state.ports });
    const authorization = authorizationFor(this.secrets.nats, context.secret);
    const find = (kind, ...startArgs) => discover(kind, { context, dependencies, startArgs });
    const [postgres, redis, nats] = await allOrFirstError([
      find('postgres'),
      find('redis'),
      find('nats', authorization),
    ]);
    this.revival.watch(context, { postgres: [], redis: [], nats: [authorization] });
    for (const { title, version, from } of [postgres, redis, nats]) this.say(`${title} ${version} (${from})`);
    const addressOf = ({ url, isPrivate }) => ({ url, isPrivate });
    this.#state.stores = { postgres: addressOf(postgres), redis: addressOf(redis), nats: addressOf(nats) };
    this.#save();
    await dependencies;
    const fleet = { id: this.secrets.fleetId, dir: FLEET_DIR };
    if (!redis.isPrivate) await claimRedis(redis.url, fleet);
    if (!nats.isPrivate) await claimNats(nats.url, fleet);
    const database = await prepareDatabase(postgres.url, this.secrets.database, fleet);
    return { postgres, redis, nats, database };
  }

  async #services(stores) {
    const urls = natsUrls(stores.nats, this.secrets.nats);
    this.supervisor = new Supervisor({
      keeper: this.keeper,
      replicas: this.replicas,
      ports: this.#state.ports,
      environmentOf: (service) => environmentOf(service, this.#environmentContext(stores, urls)),
    });
    this.supervisor.on('change', () => this.#save());
    this.supervisor.on('news', (line) => this.say(line));
    await this.supervisor.choosePorts();
    Object.assign(this.#state.ports, this.supervisor.ports);
    this.edge = await startEdge({ supervisor: this.supervisor, wishedPort: this.#wishedEdgePort() });
    this.mailbox = await startMailbox({ dir: MAILBOX_DIR, wishedPort: this.#state.ports.mailbox });
    this.control = await startControl({ supervisor: this.supervisor });
    this.#servers = [this.edge, this.mailbox, this.control];
    Object.assign(this.#state.ports, { edge: this.edge.port, mailbox: this.mailbox.port });
    this.#state.control = { url: this.control.url, token: this.control.token };
    this.#save();
    // Services wait for the streams, so these need not come first.
    await this.step('services', () => allOrFirstError([prepareStreams(stores.nats.url), this.supervisor.start()]));
  }

  #wishedEdgePort() {
    return wishedPort() ?? this.#state.ports.edge ?? 8080;
  }

  #environmentContext(stores, urls) {
    return {
      secrets: this.secrets,
      database: stores.database,
      redisUrl: stores.redis.url,
      natsUrlOf: (service) => urls[service],
      baseUrl: this.edge.url,
      edgePort: this.edge.port,
      portOf: (service) => this.supervisor.portOf(service),
      localReceivers: this.localReceivers,
    };
  }

  #summary(stores) {
    return {
      baseUrl: this.edge.url,
      docsUrl: `${this.edge.url}/docs`,
      mailboxUrl: this.mailbox.url,
      databaseUrl: stores.database.url,
      redisUrl: stores.redis.url,
      natsUrl: stores.nats.url,
      natsAdminUrl: stores.nats.url,
      admin: { email: this.secrets.adminEmail, password: this.secrets.adminPassword },
      localReceivers: this.localReceivers,
      logs: path.relative(process.cwd(), LOG_DIR),
    };
  }

  #save() {
    if (this.#closing) return;
    writeState({
      launcher: { pid: process.pid, start: startOf(process.pid) },
      ...this.#state,
      records: this.keeper?.records ?? [],
      services: this.supervisor?.describe() ?? [],
    });
  }

  async #stopEverything() {
    await this.supervisor?.stop();
    await Promise.all(this.#servers.map((server) => server.close()));
    await this.keeper?.release();
    if (!holdsLock()) return; // refused, since another launcher runs: what is written down is its state
    const { ports, stores } = this.#state;
    writeState({ phase: 'stopped', ports, stores, records: [] });
    releaseLock();
  }
}

/** The port of the API that the person asked for, if any. */
function wishedPort() {
  const { FLEET_PORT: text } = process.env;
  if (!text) return null;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new Failure(`FLEET_PORT must be a port number, got "${text}"`);
}
