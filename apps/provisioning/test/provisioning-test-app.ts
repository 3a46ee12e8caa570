import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import request from 'supertest';
import {
  AUDIT_ENTRIES,
  subjects,
  type AuditEntries,
  type Envelope,
  type PartnerState,
  type RpcContract,
} from '@rmm/contracts';
import { ensureStreams } from '@rmm/messaging';
import { migratedBy } from '@rmm/persistence/testing';
import { startFromEnvironment } from '@rmm/service-kit';
import { FakeIdentity, type FakeUser } from '@rmm/testing/fake-identity';
import { eventually, startStores, type Stores, type TestNats } from '@rmm/testing-services';
import { AppModule } from '../src/app.module.js';
import { MIGRATIONS } from '../src/migrations/index.js';
import { serviceOptions } from '../src/service-options.js';
import { FakeCredentials } from './fake-credentials.js';

const PEPPER = 'pepper of the spec';

export interface PartnerCaps {
  maxOrganizations?: number | null;
  maxDevices?: number | null;
  status?: PartnerState['status'];
  createFirstOrganization?: boolean;
}

/** The service on private stores, with fakes of identity and credentials on the same NATS. */
export class ProvisioningTestApp {
  /** Every domain event, integration event and audit entry that was published; entries of one message one by one. */
  readonly received: Envelope[] = [];

  private constructor(
    readonly stores: Stores,
    readonly nats: TestNats,
    readonly identity: FakeIdentity,
    readonly credentials: FakeCredentials,
    readonly adminUrl: string,
    readonly admin: pg.Client,
    readonly app: INestApplication,
    readonly env: NodeJS.ProcessEnv,
  ) {
    for (const subject of ['rmm.events.>', 'rmm.internal.provisioning.>', 'rmm.audit.>']) {
      identity.link.connection.subscribe(subject, {
        callback: (_, message) => void this.received.push(...withEntries(message.json<Envelope>())),
      });
    }
  }

  /** @param through  returns the URL by which the service reaches a login of PostgreSQL, for specs that interrupt it */
  static async start(
    extra: NodeJS.ProcessEnv = {},
    through: (databaseUrl: string, stores: Stores) => Promise<string> = (databaseUrl) => Promise.resolve(databaseUrl),
  ): Promise<ProvisioningTestApp> {
    const stores = await startStores();
    const [database, nats] = await Promise.all([
      stores.createDatabase(['provisioning'], migratedBy('provisioning', MIGRATIONS)),
      stores.nats({ logins: true }),
    ]);
    const identity = await FakeIdentity.start(nats.adminUrl);
    await ensureStreams(identity.link.connection);
    const credentials = new FakeCredentials(identity.link, PEPPER);
    const { owner, service, worker } = database.urls.provisioning;
    const env = {
      NODE_ENV: 'test',
      LOG_LEVEL: 'error',
      PORT: '0',
      DATABASE_URL: await through(service, stores),
      MIGRATIONS_DATABASE_URL: owner,
      WORKER_DATABASE_URL: await through(worker, stores),
      REDIS_URL: stores.redisUrl,
      NATS_URL: nats.urlFor('provisioning'),
      JWKS_URL: identity.jwksUrl,
      ENROLLMENT_KEY_PEPPER: PEPPER,
      JWT_SECRET: 'a legacy pepper',
      TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
      GLOBAL_RATE_LIMIT_PER_MINUTE: '100000',
      ...extra,
    };
    const admin = new pg.Client({ connectionString: database.adminUrl, options: '-c search_path=provisioning' });
    await admin.connect();
    const app = await startFromEnvironment(AppModule, serviceOptions, env);
    return new ProvisioningTestApp(stores, nats, identity, credentials, database.adminUrl, admin, app, env);
  }

  /** Starts another replica of the service; the caller closes it. */
  startReplica(): Promise<INestApplication> {
    return startFromEnvironment(AppModule, serviceOptions, this.env);
  }

  async stop(): Promise<void> {
    await this.app.close();
    this.credentials.stop();
    await this.identity.stop();
    await this.admin.end();
    await this.stores.stop();
  }

  get url(): string {
    return `http://127.0.0.1:${((this.app.getHttpServer() as Server).address() as AddressInfo).port}/api/v1`;
  }

  /** Returns an HTTP client with an address of its own, so that specs do not share rate limits. */
  client(token?: string, address = randomAddress()) {
    const send = (method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string) => {
      const call = request(this.url)[method](path).set('X-Forwarded-For', address);
      return token === undefined ? call : call.set('Authorization', `Bearer ${token}`);
    };
    return {
      get: (path: string) => send('get', path),
      post: (path: string, body: string | object = {}) => send('post', path).type('json').send(body),
      put: (path: string, body: object) => send('put', path).send(body),
      patch: (path: string, body: object) => send('patch', path).send(body),
      delete: (path: string) => send('delete', path),
    };
  }

  /** Returns a request with an API key, and optionally a token as well. */
  withKey(key: string, method: 'get' | 'head' | 'post' | 'put' | 'patch' | 'delete', path: string, token?: string) {
    const call = request(this.url)[method](path).set('X-Forwarded-For', randomAddress()).set('X-API-Key', key);
    return token === undefined ? call : call.set('Authorization', `Bearer ${token}`);
  }

  /** Returns an HTTP client that is signed in. */
  async clientFor(user: FakeUser) {
    return this.client(await this.identity.signIn(user));
  }

  /** Publishes a new partner and waits until it is stored. */
  async createPartner(caps: PartnerCaps = {}): Promise<string> {
    const partnerId = randomUUID();
    await this.publishPartner('partner.created', partnerId, 1, caps);
    return partnerId;
  }

  async publishPartner(type: string, partnerId: string, version: number, caps: PartnerCaps = {}): Promise<void> {
    const data = this.identity.addPartner({
      partnerId,
      name: `Partner ${partnerId.slice(0, 8)}`,
      slug: `partner-${partnerId.slice(0, 8)}`,
      version,
      ...caps,
    });
    await this.publishEvent({ type, partnerId, aggregateVersion: version, data });
    await eventually(async () => {
      const { rows } = await this.admin.query('select 1 from inbox where message_id = $1', [this.lastEventId]);
      expect(rows).not.toHaveLength(0); // one row for each handler with an effect
    });
  }

  private lastEventId = '';

  async publishEvent(message: {
    type: string;
    partnerId: string;
    aggregateVersion: number;
    data: object;
    id?: string;
  }) {
    const { type, partnerId, aggregateVersion, data, id = randomUUID() } = message;
    this.lastEventId = id;
    const envelope: Envelope = {
      id,
      type,
      schemaVersion: 1,
      timestamp: new Date().toISOString(),
      partnerId,
      orgId: null,
      aggregateId: partnerId,
      aggregateVersion,
      data,
    };
    await this.identity.link.connection
      .jetstream()
      .publish(subjects.internal('identity', type), JSON.stringify(envelope), { msgID: randomUUID() });
  }

  /** Calls an RPC as another service does. */
  async call<Q, R>(contract: RpcContract<Q, R>, request: Q): Promise<R> {
    const response = await this.identity.link.connection.request(contract.subject, JSON.stringify(request), {
      timeout: 10_000,
    });
    const { value, error } = response.json<{ value?: R; error?: unknown }>();
    if (error) throw new Error(JSON.stringify(error));
    return value as R;
  }

  /** Waits for a published message of a type and returns it. */
  waitForMessage(type: string, match: (envelope: Envelope) => boolean = () => true): Promise<Envelope> {
    return eventually(() => {
      const found = this.received.find((envelope) => envelope.type === type && match(envelope));
      if (!found) throw new Error(`nothing of type ${type} was received`);
      return found;
    });
  }
}

/** Returns an envelope for each audit entry of a message of several, as if each had its own message. */
function withEntries(envelope: Envelope): Envelope[] {
  if (envelope.type !== AUDIT_ENTRIES) return [envelope];
  const { entries } = envelope.data as AuditEntries;
  return entries.map(({ id, orgId, ...data }) => {
    return { ...envelope, id, orgId, type: data.action, aggregateId: data.resourceId ?? envelope.aggregateId, data };
  });
}

let addresses = 0;
const randomAddress = () => `198.18.${(addresses += 1) >> 8}.${addresses & 255}`;
