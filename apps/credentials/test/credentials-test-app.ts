import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import request from 'supertest';
import {
  type CredentialChanged,
  type DomainEvent,
  type Envelope,
  type OrganizationState,
  type PartnerState,
  type RpcContract,
  type SiteState,
  subjects,
} from '@rmm/contracts';
import { ensureStreams } from '@rmm/messaging';
import { migratedBy } from '@rmm/persistence/testing';
import { startFromEnvironment } from '@rmm/service-kit';
import { FakeIdentity, type FakeUser } from '@rmm/testing/fake-identity';
import { eventually, startStores, type Stores, type TestDatabase, type TestNats } from '@rmm/testing-services';
import { AppModule } from '../src/app.module.js';
import { MIGRATIONS } from '../src/migrations/index.js';
import { serviceOptions } from '../src/service-options.js';
import { FakeProvisioning } from './fake-provisioning.js';

export const PEPPER = 'pepper of the spec';
export const LEGACY_PEPPER = 'a legacy pepper';

/** The service on real stores, with fakes of identity and provisioning on the same NATS server. */
export class CredentialsTestApp {
  /** The integration events and audit entries that left the outbox. */
  readonly received: Envelope[] = [];
  /** The domain events that left the outbox. */
  readonly events: DomainEvent[] = [];
  /** The broadcasts to the key caches. */
  readonly broadcasts: CredentialChanged[] = [];

  private constructor(
    readonly stores: Stores,
    readonly nats: TestNats,
    readonly database: TestDatabase<'credentials'>,
    readonly identity: FakeIdentity,
    readonly provisioning: FakeProvisioning,
    readonly admin: pg.Client,
    readonly app: INestApplication,
    private readonly env: NodeJS.ProcessEnv,
  ) {
    const { connection } = identity.link;
    for (const subject of ['rmm.internal.credentials.>', 'rmm.audit.>']) {
      connection.subscribe(subject, { callback: (_, message) => void this.received.push(message.json<Envelope>()) });
    }
    connection.subscribe('rmm.events.>', {
      callback: (_, message) => void this.events.push(message.json<DomainEvent>()),
    });
    connection.subscribe(subjects.broadcast('credential.changed'), {
      callback: (_, message) => void this.broadcasts.push(message.json<Envelope<CredentialChanged>>().data),
    });
  }

  static async start(extra: NodeJS.ProcessEnv = {}): Promise<CredentialsTestApp> {
    const stores = await startStores();
    const [database, nats] = await Promise.all([
      stores.createDatabase(['credentials'], migratedBy('credentials', MIGRATIONS)),
      stores.nats({ logins: true }),
    ]);
    const identity = await FakeIdentity.start(nats.adminUrl);
    await ensureStreams(identity.link.connection);
    const provisioning = new FakeProvisioning(identity.link);
    const { owner, service, worker } = database.urls.credentials;
    const env = {
      NODE_ENV: 'test',
      LOG_LEVEL: 'error',
      PORT: '0',
      DATABASE_URL: service,
      MIGRATIONS_DATABASE_URL: owner,
      WORKER_DATABASE_URL: worker,
      REDIS_URL: stores.redisUrl,
      NATS_URL: nats.urlFor('credentials'),
      JWKS_URL: identity.jwksUrl,
      ENROLLMENT_KEY_PEPPER: PEPPER,
      JWT_SECRET: LEGACY_PEPPER,
      TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
      GLOBAL_RATE_LIMIT_PER_MINUTE: '100000',
      ...extra,
    };
    const admin = new pg.Client({ connectionString: database.adminUrl, options: '-c search_path=credentials' });
    await admin.connect();
    const app = await startFromEnvironment(AppModule, serviceOptions, env);
    return new CredentialsTestApp(stores, nats, database, identity, provisioning, admin, app, env);
  }

  /** Starts a second process of the service; the caller closes it. */
  startReplica(): Promise<INestApplication> {
    return startFromEnvironment(AppModule, serviceOptions, this.env);
  }

  async stop(): Promise<void> {
    await this.app.close();
    this.provisioning.stop();
    await this.identity.stop();
    await this.admin.end();
    await this.stores.stop();
  }

  /** Returns a client with this token; without authentication when absent. */
  client(token?: string, headers: Record<string, string> = {}) {
    const url = `http://127.0.0.1:${((this.app.getHttpServer() as Server).address() as AddressInfo).port}/api/v1`;
    const send = (method: 'get' | 'post' | 'patch' | 'delete', path: string) => {
      const call = request(url)[method](path).set(headers);
      return token === undefined ? call : call.set('Authorization', `Bearer ${token}`);
    };
    return {
      token: token ?? '',
      get: (path: string) => send('get', path),
      post: (path: string, body: object | string = {}) => send('post', path).type('json').send(body),
      patch: (path: string, body: object | string) => send('patch', path).type('json').send(body),
      delete: (path: string) => send('delete', path),
    };
  }

  /** Signs a user in and returns their client. */
  async as(user: FakeUser) {
    return this.client(await this.identity.signIn(user));
  }

  async createPartner(more: Partial<PartnerState> = {}): Promise<string> {
    const partnerId = randomUUID();
    await this.publishPartner('partner.created', { partnerId, version: 1, ...more });
    return partnerId;
  }

  /** Creates a partner with an organization, and the client of its administrator. */
  async createTenant() {
    const partnerId = await this.createPartner();
    return { partnerId, orgId: await this.createOrganization(partnerId), owner: await this.as({ partnerId }) };
  }

  publishPartner(type: string, given: Partial<PartnerState> & { partnerId: string; version: number }): Promise<void> {
    const data = this.identity.addPartner(given);
    return this.publish('identity', { type, partnerId: data.partnerId, orgId: null, version: data.version, data });
  }

  async createOrganization(partnerId: string): Promise<string> {
    const orgId = randomUUID();
    await this.publishOrganization('organization.created', { orgId, partnerId, version: 1 });
    return orgId;
  }

  publishOrganization(
    type: string,
    given: Partial<OrganizationState> & { orgId: string; partnerId: string; version: number },
  ): Promise<void> {
    const { orgId, partnerId, version } = given;
    const data: OrganizationState = { name: 'Acme', slug: orgId, status: 'active', deleted: false, ...given };
    this.provisioning.addOrganization(data);
    return this.publish('provisioning', { type, partnerId, orgId, version, data });
  }

  /** Publishes that a site was deleted. */
  deleteSite(owner: { siteId: string; orgId: string; partnerId: string }): Promise<void> {
    const { partnerId, orgId } = owner;
    const data: SiteState = { ...owner, name: 'Site', deleted: true, version: 2 };
    return this.publish('provisioning', { type: 'site.deleted', partnerId, orgId, version: 2, data });
  }

  /** Sends an RPC request as another service does. */
  async request<Q, R>(contract: RpcContract<Q, R>, payload: Q): Promise<R> {
    const reply = await this.identity.link.connection.request(contract.subject, JSON.stringify(payload), {
      timeout: 10_000,
    });
    const { value, error } = reply.json<{ value?: R; error?: unknown }>();
    if (error) throw new Error(JSON.stringify(error));
    return value as R;
  }

  /** Waits for the audit entry of an action on a record. */
  findAuditEntry(action: string, resourceId: string): Promise<Record<string, unknown>> {
    return eventually(() => {
      const found = this.received.find(
        ({ type, data }) => type === action && (data as { resourceId?: string }).resourceId === resourceId,
      );
      if (!found) throw new Error(`no audit entry ${action} of ${resourceId}`);
      return found.data as Record<string, unknown>;
    });
  }

  /** Waits until a key has this many domain events and returns them, in the order of their publication. */
  findEvents(apiKeyId: string, count: number): Promise<DomainEvent[]> {
    return eventually(() => {
      const found = this.events.filter(({ aggregateId }) => aggregateId === apiKeyId);
      if (found.length < count) throw new Error(`${found.length} of ${count} events of ${apiKeyId}`);
      return found;
    });
  }

  /** Waits for the broadcast about a key. */
  findBroadcast(keyId: string, reason: CredentialChanged['reason']): Promise<CredentialChanged> {
    return eventually(() => {
      const found = this.broadcasts.find((change) => change.reason === reason && change.keyIds.includes(keyId));
      if (!found) throw new Error(`no broadcast: ${reason} of ${keyId}`);
      return found;
    });
  }

  /** Publishes an integration event as its owner does and waits until it was handled. */
  private async publish(
    from: 'identity' | 'provisioning',
    { version, ...message }: Pick<Envelope, 'type' | 'partnerId' | 'orgId' | 'data'> & { version: number },
  ): Promise<void> {
    const id = randomUUID();
    const envelope: Envelope = {
      id,
      schemaVersion: 1,
      timestamp: new Date().toISOString(),
      aggregateId: message.orgId ?? message.partnerId ?? id,
      aggregateVersion: version,
      ...message,
    };
    await this.identity.link.connection
      .jetstream()
      .publish(subjects.internal(from, message.type), JSON.stringify(envelope), { msgID: id });
    await eventually(async () => {
      const { rows } = await this.admin.query('select 1 from inbox where message_id = $1', [id]);
      expect(rows).toHaveLength(1);
    });
  }
}
