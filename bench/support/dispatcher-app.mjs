// Runs the built dispatcher on private stores, with webhooks created through its API and events published
// as an outbox relay publishes them.
import 'reflect-metadata';
import getPort from 'get-port';
import { fork } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NODE_FLAGS } from '../../tools/dist/fleet/services.js';
import { built, lib } from './built-code.mjs';
import { cpuOf, cpuOfFamily, findProcess, memoryOf, parentOf } from './process-stats.mjs';
import { eventData, SECRET } from './webhook-message.mjs';

const pg = createRequire(import.meta.url)('pg');
const { Redis } = createRequire(import.meta.url)('ioredis');
const APP = path.resolve(import.meta.dirname, '../../apps/webhook-dispatcher');
const SCHEMA = 'webhook_dispatcher';
const READY_MS = 90_000;
const WINDOW = 256; // messages in flight, as the relay's
const PARTITIONS = 1_024;
const SPREAD_MS = 60_000;
const API_CALLS = 16; // in flight
const INDEXED_MS = 2_000; // until a dispatcher knows the webhooks that others created
const { startStores } = await lib('testing-services');
const { NatsLink, ensureStreams } = await lib('messaging');
const { JetStreamPublisher } = await lib('messaging', 'outbox/jetstream.publisher.js');
const { FakeIdentity } = await lib('testing', 'fake-identity.js');
const { FakeOrganizations } = await lib('testing', 'fake-tenants.js');
const { KeyRing } = await lib('secrets');
const { WebhookSealingService } = await built('webhook-dispatcher', 'webhooks/webhook-sealing.service.js');

const KID = 'bench';
const SEALING_KEY = randomBytes(32);
const INSERT_WEBHOOKS = `
  with created as (
    insert into webhook (id, partner_id, org_id, name, url_sealed, secret_sealed, events)
    select id, $1, org_id, 'Bench', url, secret, '{device.*}'
      from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[]) as w(id, org_id, url, secret)
    returning id, partner_id, org_id
  )
  insert into webhook_counter (webhook_id, partner_id, org_id) select id, partner_id, org_id from created`;

export const EVENT_TYPE = 'device.enrolled';

/** PostgreSQL and Redis of a run, which its dispatchers share. */
export const openStores = () => startStores();

export class DispatcherApp {
  undo = [];
  replicas = [];

  /**
   * @param {{ env?: object, redisDatabase?: number, nodeFlags?: string[], replicas?: number }} options
   *   `env` changes the dispatchers'
   */
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

  async open(stores, { env = {}, redisDatabase = 0, nodeFlags = [], replicas = 1 }) {
    Object.assign(this, { env, nodeFlags });
    this.database = await stores.createDatabase([SCHEMA]);
    this.nats = await stores.nats({ monitored: true });
    this.undo.push(() => this.nats.kill());
    this.redisUrl = `${stores.redisUrl}/${redisDatabase}`;
    this.identity = await FakeIdentity.start(this.nats.url);
    this.undo.push(() => this.identity.stop());
    this.organizations = new FakeOrganizations(this.identity.link);
    this.undo.push(() => this.organizations.stop());
    await ensureStreams(this.identity.link.connection);
    this.undo.push(() => Promise.all(this.replicas.map((replica) => this.stopReplica(replica))));
    await this.startReplica();
    this.admin = new pg.Client({ connectionString: this.database.adminUrl, options: `-c search_path=${SCHEMA}` });
    await this.admin.connect();
    this.undo.push(() => this.admin.end());
    this.redis = new Redis(this.redisUrl);
    this.undo.push(() => this.redis.disconnect());
    this.publisher = await this.connectPublisher();
    await this.findProcesses();
    await this.scaleTo(replicas);
  }

  /** Starts or stops dispatchers, and waits until each owns its share of the partitions. */
  async scaleTo(count) {
    while (this.replicas.length < count) await this.startReplica();
    while (this.replicas.length > count) await this.stopReplica(this.replicas.pop());
    const share = PARTITIONS / count;
    for (const startedAt = performance.now(); ; await sleep(100)) {
      const { rows } = await this.admin.query(
        'select count(*)::int as owned from delivery_partition where owner is not null group by owner',
      );
      if (rows.length === count && rows.every(({ owned }) => owned > 0.8 * share)) return;
      if (performance.now() - startedAt > SPREAD_MS)
        throw new Error(`partitions are not spread: ${JSON.stringify(rows)}`);
    }
  }

  async startReplica() {
    const port = await getPort({ host: '127.0.0.1' });
    const { owner, service, worker } = this.database.urls[SCHEMA];
    const child = fork(path.join(APP, 'dist/main.js'), [], {
      execArgv: [...NODE_FLAGS, ...this.nodeFlags],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'test',
        LOG_LEVEL: 'error',
        PORT: String(port),
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
        SECRETS_KEYRING: JSON.stringify({ [KID]: SEALING_KEY.toString('base64') }),
        SECRETS_ACTIVE_KID: KID,
        SHUTDOWN_GRACE_SECONDS: '5',
        ...this.env,
      },
    });
    this.replicas.push({ child, port });
    for (const startedAt = performance.now(); !(await isReady(port)); await sleep(50)) {
      if (child.exitCode !== null) throw new Error(`the dispatcher ended with ${child.exitCode}`);
      if (performance.now() - startedAt > READY_MS) throw new Error('the dispatcher does not become ready');
    }
  }

  async stopReplica({ child }) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await gone;
    clearTimeout(late);
  }

  /** Kills the dispatcher that was started last, as a machine that fails does. */
  killReplica() {
    this.replicas.pop().child.kill('SIGKILL');
  }

  /** Returns a publisher with a connection of its own, so that large events do not delay those of others. */
  async connectPublisher() {
    const link = new NatsLink({ url: this.nats.url, name: 'bench-publisher' });
    await link.open();
    const publisher = new JetStreamPublisher(link);
    this.undo.push(async () => {
      publisher.close();
      await link.close();
    });
    return publisher;
  }

  async findProcesses() {
    const { rows } = await this.admin.query('select pg_backend_pid() as pid');
    this.pids = {
      postgres: parentOf(rows[0].pid),
      redis: Number(/process_id:(\d+)/.exec(await this.redis.info('server'))[1]),
      nats: findProcess('nats-server', new URL(this.nats.url).port),
    };
  }

  /** Returns the CPU used so far in µs, by process. */
  cpu() {
    const { postgres, redis, nats } = this.pids;
    const dispatcher = this.replicas.reduce((sum, { child }) => sum + cpuOf(child.pid), 0);
    return { dispatcher, postgres: cpuOfFamily(postgres), redis: cpuOf(redis), nats: cpuOf(nats) };
  }

  /** Returns the memory of the largest dispatcher in MB. */
  memory() {
    return Math.max(...this.replicas.map(({ child }) => memoryOf(child.pid)));
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
    const organizations = Array.from({ length: count }, () => ({ orgId: randomUUID(), partnerId }));
    for (const { orgId } of organizations) this.organizations.add({ orgId, partnerId });
    await this.addWebhooks(organizations, urlsOf);
    return organizations;
  }

  /** Adds webhooks to organizations as `addOrganizations`, most of them past the API, which takes too long for thousands. */
  async addManyOrganizations(count, urls) {
    const organizations = await this.addOrganizations(count, () => urls.slice(0, 1));
    const sealing = new WebhookSealingService(new KeyRing({ keys: { [KID]: SEALING_KEY }, activeKid: KID }));
    const webhooks = organizations.flatMap(({ orgId }) =>
      urls.slice(1).map((url) => ({ id: randomUUID(), orgId, url })),
    );
    await this.admin.query(INSERT_WEBHOOKS, [
      organizations[0].partnerId,
      webhooks.map(({ id }) => id),
      webhooks.map(({ orgId }) => orgId),
      webhooks.map(({ id, url }) => sealing.sealUrl(id, url)),
      webhooks.map(({ id }) => sealing.sealSecret(id, SECRET)),
    ]);
    await this.addOrganizations(1, () => urls.slice(0, 1)); // has the dispatcher read what changed
    await sleep(INDEXED_MS);
    return organizations;
  }

  /** Adds webhooks to organizations of one partner. */
  async addWebhooks(organizations, urlsOf) {
    const token = await this.identity.signIn({ partnerId: organizations[0].partnerId });
    const webhooks = organizations.flatMap((organization, n) => urlsOf(n).map((url) => ({ organization, url })));
    const loop = async () => {
      for (let webhook = webhooks.pop(); webhook; webhook = webhooks.pop()) {
        const { organization, url } = webhook;
        await this.createWebhook(token, organization, url);
      }
    };
    await Promise.all(Array.from({ length: API_CALLS }, loop));
  }

  async createWebhook(token, { orgId }, url) {
    const response = await fetch(`http://127.0.0.1:${this.replicas[0].port}/api/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ orgId, name: 'Bench', url, secret: SECRET, events: ['device.*'] }),
    });
    const webhook = await response.json();
    if (response.status !== 201) throw new Error(`POST /webhooks: ${response.status} ${JSON.stringify(webhook)}`);
  }

  /** Publishes one event of an organization. Resolves when the stream has it. */
  publish({ orgId, partnerId }, { publisher = this.publisher, data = eventData() } = {}) {
    const id = randomUUID();
    const timestamp = new Date().toISOString();
    const aggregate = { aggregateId: orgId, aggregateVersion: 1 };
    const envelope = { id, type: EVENT_TYPE, schemaVersion: 1, timestamp, partnerId, orgId, ...aggregate };
    const payload = JSON.stringify({ ...envelope, data });
    return publisher.publish(`rmm.events.${orgId}.${EVENT_TYPE}`, payload, id);
  }

  /**
   * Publishes events for the organizations in turn, as fast as the stream accepts them.
   * @param options  `data` of each event, its `publisher`, how many are in flight, and the time after which no more are sent
   * @returns their number
   */
  async publishAll(organizations, count, { window = WINDOW, limitMs = Infinity, ...options } = {}) {
    const endMs = performance.now() + limitMs;
    let next = 0;
    const loop = async () => {
      while (next < count && performance.now() < endMs)
        await this.publish(organizations[next++ % organizations.length], options);
    };
    await Promise.all(Array.from({ length: window }, loop));
    return next;
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
  async untilDelivered(before, count, timeoutMs = 300_000) {
    for (const startedAt = performance.now(); ; await sleep(25)) {
      const done = (await this.delivered()) - before;
      if (done >= count) return;
      if (performance.now() - startedAt > timeoutMs) throw new Error(`only ${done} of ${count} deliveries were made`);
    }
  }

  /** @param {{ kill?: boolean }} options  without waiting for what is in flight */
  async close({ kill = false } = {}) {
    if (kill) for (const { child } of this.replicas) child.kill('SIGKILL');
    await this.redis?.flushdb(); // the next dispatcher may use the same database
    for (const step of this.undo.reverse()) await step();
    this.undo = [];
  }
}

async function isReady(port) {
  const response = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null);
  return response?.status === 200;
}
