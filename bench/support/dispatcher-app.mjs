// Runs the built dispatcher on private stores, with webhooks created through its API and events published
// as an outbox relay publishes them.
import 'reflect-metadata';
import getPort from 'get-port';
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeFlagsOf } from '../../tools/dist/fleet/services.js';
import { lib } from './built-code.mjs';
import { cpuOf, cpuOfFamily, findProcess, memoryOf, parentOf } from './process-stats.mjs';
import { eventData, SECRET } from './webhook-message.mjs';

const pg = createRequire(import.meta.url)('pg');
const { Redis } = createRequire(import.meta.url)('ioredis');
const APP = path.resolve(import.meta.dirname, '../../apps/webhook-dispatcher');
const SCHEMA = 'webhook_dispatcher';
/** Node's options as the launcher sets them. */
export const NODE_FLAGS = nodeFlagsOf('webhook-dispatcher');
const READY_MS = 30_000;
const WINDOW = 256; // messages in flight, as the relay's
const { startStores } = await lib('testing-services');
const { NatsLink, ensureStreams } = await lib('messaging');
const { JetStreamPublisher } = await lib('messaging', 'outbox/jetstream.publisher.js');
const { FakeIdentity } = await lib('testing', 'fake-identity.js');
const { FakeOrganizations } = await lib('testing', 'fake-tenants.js');

export const EVENT_TYPE = 'device.enrolled';

/** PostgreSQL and Redis of a run, which its dispatchers share. */
export const openStores = () => startStores();

export class DispatcherApp {
  undo = [];

  /** @param {{ env?: object, redisDatabase?: number, nodeFlags?: string[] }} options  `env` changes the dispatcher's */
  static async open(stores, options = {}) {
    const dispatcher = new DispatcherApp();
    try {
      await dispatcher.open(stores, options);
      return dispatcher;
    } catch (error) {
      await dispatcher.close();
      throw error;
    }
  }

  async open(stores, { env = {}, redisDatabase = 0, nodeFlags = [] }) {
    this.database = await stores.createDatabase([SCHEMA]);
    this.nats = await stores.nats();
    this.redisUrl = `${stores.redisUrl}/${redisDatabase}`;
    this.identity = await FakeIdentity.start(this.nats.url);
    this.undo.push(() => this.identity.stop());
    this.organizations = new FakeOrganizations(this.identity.link);
    this.undo.push(() => this.organizations.stop());
    await ensureStreams(this.identity.link.connection);
    await this.startDispatcher(env, nodeFlags);
    this.admin = new pg.Client({ connectionString: this.database.adminUrl, options: `-c search_path=${SCHEMA}` });
    await this.admin.connect();
    this.undo.push(() => this.admin.end());
    this.redis = new Redis(this.redisUrl);
    this.undo.push(() => this.redis.disconnect());
    await this.connectPublisher();
    await this.findProcesses();
  }

  async startDispatcher(env, nodeFlags) {
    this.port = await getPort({ host: '127.0.0.1' });
    const { owner, service, worker } = this.database.urls[SCHEMA];
    this.child = fork(path.join(APP, 'dist/main.js'), [], {
      execArgv: [...NODE_FLAGS, ...nodeFlags],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'test',
        LOG_LEVEL: 'error',
        PORT: String(this.port),
        DATABASE_URL: service,
        WORKER_DATABASE_URL: worker,
        MIGRATIONS_DATABASE_URL: owner,
        REDIS_URL: this.redisUrl,
        NATS_URL: this.nats.url,
        JWKS_URL: this.identity.jwksUrl,
        PUBLIC_API_URL: 'http://localhost:8080',
        PUBLIC_APP_URL: 'http://localhost:8080',
        IS_HOSTED: 'false',
        OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8',
        RATE_LIMITS_ENABLED: 'false',
        SECRET_ENCRYPTION_KEY: 'a sealing key for benchmarks, long enough',
        SHUTDOWN_GRACE_SECONDS: '5',
        ...env,
      },
    });
    this.undo.push(() => this.stopDispatcher());
    for (const startedAt = performance.now(); !(await this.isReady()); await sleep(50)) {
      if (this.child.exitCode !== null) throw new Error(`the dispatcher ended with ${this.child.exitCode}`);
      if (performance.now() - startedAt > READY_MS) throw new Error('the dispatcher does not become ready');
    }
  }

  async isReady() {
    const response = await fetch(`http://127.0.0.1:${this.port}/health/ready`).catch(() => null);
    return response?.status === 200;
  }

  async stopDispatcher() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const late = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
    await gone;
    clearTimeout(late);
  }

  async connectPublisher() {
    const link = new NatsLink({ url: this.nats.url, name: 'bench-publisher' });
    await link.open();
    this.publisher = new JetStreamPublisher(link);
    this.undo.push(async () => {
      this.publisher.close();
      await link.close();
    });
  }

  async findProcesses() {
    const { rows } = await this.admin.query('select pg_backend_pid() as pid');
    this.pids = {
      dispatcher: this.child.pid,
      postgres: parentOf(rows[0].pid),
      redis: Number(/process_id:(\d+)/.exec(await this.redis.info('server'))[1]),
      nats: findProcess('nats-server', new URL(this.nats.url).port),
    };
  }

  /** Returns the CPU used so far in µs, by process. */
  cpu() {
    const { dispatcher, postgres, redis, nats } = this.pids;
    return { dispatcher: cpuOf(dispatcher), postgres: cpuOfFamily(postgres), redis: cpuOf(redis), nats: cpuOf(nats) };
  }

  memory() {
    return memoryOf(this.pids.dispatcher);
  }

  /** Returns the transactions on this database so far; a statement of the dispatcher is one. */
  async transactions() {
    await sleep(1_200); // a server process reports its counts once a second at most
    const { rows } = await this.admin.query(
      'select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()',
    );
    return Number(rows[0].n);
  }

  /**
   * Organizations of a partner of their own, each with webhooks to the given URLs.
   * @param {(organization: number) => string[]} urlsOf
   * @returns their ids
   */
  async addOrganizations(count, urlsOf) {
    const partnerId = randomUUID();
    const organizations = Array.from({ length: count }, () => ({ orgId: randomUUID(), partnerId, webhookIds: [] }));
    for (const { orgId } of organizations) this.organizations.add({ orgId, partnerId });
    await this.addWebhooks(organizations, urlsOf);
    return organizations;
  }

  /** Adds webhooks to organizations of one partner. */
  async addWebhooks(organizations, urlsOf) {
    const token = await this.identity.signIn({ partnerId: organizations[0].partnerId });
    for (const [n, organization] of organizations.entries()) {
      for (const url of urlsOf(n)) organization.webhookIds.push(await this.createWebhook(token, organization, url));
    }
  }

  async createWebhook(token, { orgId }, url) {
    const response = await fetch(`http://127.0.0.1:${this.port}/api/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ orgId, name: 'Bench', url, secret: SECRET, events: ['device.*'] }),
    });
    const webhook = await response.json();
    if (response.status !== 201) throw new Error(`POST /webhooks: ${response.status} ${JSON.stringify(webhook)}`);
    return webhook.id;
  }

  /** Publishes one event of an organization. Resolves when the stream has it. */
  publish({ orgId, partnerId }) {
    const id = randomUUID();
    const timestamp = new Date().toISOString();
    const aggregate = { aggregateId: orgId, aggregateVersion: 1 };
    const envelope = { id, type: EVENT_TYPE, schemaVersion: 1, timestamp, partnerId, orgId, ...aggregate };
    const payload = JSON.stringify({ ...envelope, data: eventData() });
    return this.publisher.publish(`rmm.events.${orgId}.${EVENT_TYPE}`, payload, id);
  }

  /** Publishes events for the organizations in turn, as fast as the stream accepts them. */
  async publishAll(organizations, count) {
    let next = 0;
    const loop = async () => {
      while (next < count) await this.publish(organizations[next++ % organizations.length]);
    };
    await Promise.all(Array.from({ length: WINDOW }, loop));
  }

  /** Publishes events at a steady rate, without waiting for their deliveries. */
  async publishPaced(organizations, perSecond, seconds) {
    const pace = this.pace(organizations, perSecond);
    while (pace.published < perSecond * seconds) await sleep(1);
    return pace.stop();
  }

  /**
   * Begins to publish for the organizations in turn.
   * @returns `published` so far, and `stop`, which waits until the stream has all of them and returns their number
   */
  pace(organizations, perSecond) {
    const pending = [];
    const startedAt = performance.now();
    const timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startedAt) / 1_000) * perSecond);
      while (pending.length < due) pending.push(this.publish(organizations[pending.length % organizations.length]));
    }, 1);
    return {
      get published() {
        return pending.length;
      },
      async stop() {
        clearInterval(timer);
        await Promise.all(pending);
        return pending.length;
      },
    };
  }

  /** Returns the number of deliveries stored as delivered. */
  async delivered() {
    const { rows } = await this.admin.query('select coalesce(sum(delivered), 0) as n from webhook_counter');
    return Number(rows[0].n);
  }

  /** Waits until `count` more deliveries than `before` are stored as delivered. @throws after the time limit */
  async untilDelivered(before, count, timeoutMs = 120_000) {
    for (const startedAt = performance.now(); ; await sleep(25)) {
      const done = (await this.delivered()) - before;
      if (done >= count) return;
      if (performance.now() - startedAt > timeoutMs) throw new Error(`only ${done} of ${count} deliveries were made`);
    }
  }

  /** @param {{ kill?: boolean }} options  without waiting for what is in flight */
  async close({ kill = false } = {}) {
    if (kill) this.child?.kill('SIGKILL');
    for (const step of this.undo.reverse()) await step();
    this.undo = [];
  }
}
