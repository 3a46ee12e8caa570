import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import request from 'supertest';
import {
  CREDENTIALS_KEYS_RECORD_USAGE,
  CREDENTIALS_KEYS_RESOLVE,
  type Envelope,
  type KeyResolveRequest,
  type KeyUsageRequest,
  type ResolvedApiKey,
  type ResolvedKey,
  type ResolvedPartnerKey,
  type RpcContract,
} from '@rmm/contracts';
import { Broadcasts, ensureStreams, NatsLink } from '@rmm/messaging';
import { hashKey, mintApiKey, mintPartnerKey } from '@rmm/secrets';
import { type DomainError, serializeError, startService } from '@rmm/service-kit';
import { type Stores, startStores } from '@rmm/testing-services';
import { AppModule } from '../src/app.module.js';
import { type PartnerGatewayConfig, readPartnerGatewayConfig } from '../src/config.js';
import { serviceOptions } from '../src/service-options.js';

const HEARTBEAT_MS = 500;

/** The service on real stores, with a fake of credentials on the same NATS server that has keys only. */
export class GatewayTestApp {
  /** The audit entries that left the outbox. */
  readonly auditEntries: Envelope[] = [];
  private readonly records = new Map<string, ResolvedKey>();
  private readonly replies = new Map<string, (request: never) => unknown>();
  private readonly heartbeat: NodeJS.Timeout;

  private constructor(
    readonly stores: Stores,
    private readonly link: NatsLink,
    readonly app: INestApplication,
    private readonly config: Readonly<PartnerGatewayConfig>,
  ) {
    link.connection.subscribe('rmm.audit.>', { callback: (_, message) => void this.auditEntries.push(message.json()) });
    link.connection.subscribe(CREDENTIALS_KEYS_RESOLVE.subject, {
      callback: (_, message) => {
        const { keyHash } = message.json<KeyResolveRequest>();
        message.respond(JSON.stringify({ value: this.records.get(keyHash) ?? null }));
      },
    });
    link.connection.subscribe(CREDENTIALS_KEYS_RECORD_USAGE.subject, {
      callback: (_, message) => {
        const { uses } = message.json<KeyUsageRequest>();
        message.respond(JSON.stringify({ value: { recorded: uses.length } }));
      },
    });
    const broadcasts = new Broadcasts(link);
    let sequence = 0;
    this.heartbeat = setInterval(() => {
      sequence += 1;
      for (const topic of ['access.heartbeat', 'credential.heartbeat', 'organization.heartbeat'] as const)
        broadcasts.publishNow(topic, { publisher: 'spec', sequence, intervalMs: HEARTBEAT_MS });
    }, HEARTBEAT_MS);
  }

  static async start(extra: NodeJS.ProcessEnv = {}): Promise<GatewayTestApp> {
    const stores = await startStores();
    const [database, nats] = await Promise.all([stores.createDatabase(['partner_gateway']), stores.nats()]);
    const link = new NatsLink({ url: nats.url, name: 'other-services' });
    await link.open();
    await ensureStreams(link.connection);
    const { owner, service, worker } = database.urls.partner_gateway;
    const config = readPartnerGatewayConfig({
      NODE_ENV: 'test',
      LOG_LEVEL: 'error',
      PORT: '0',
      DATABASE_URL: service,
      MIGRATIONS_DATABASE_URL: owner,
      WORKER_DATABASE_URL: worker,
      REDIS_URL: stores.redisUrl,
      NATS_URL: nats.url,
      PUBLIC_API_URL: 'https://api.fleet.example',
      PARTNER_API_CURSOR_SIGNING_KEY: 'x'.repeat(32),
      ...extra,
    });
    return new GatewayTestApp(
      stores,
      link,
      await startService({ ...serviceOptions, config, module: AppModule.forRoot(config) }),
      config,
    );
  }

  /** Starts another replica of the service; the caller closes it. */
  startReplica(): Promise<INestApplication> {
    return startService({ ...serviceOptions, config: this.config, module: AppModule.forRoot(this.config) });
  }

  /** Replies to a contract in place of its service, with a value or an error; later calls replace the reply. */
  serve<Request, Reply>(contract: RpcContract<Request, Reply>, reply: (request: Request) => Reply | DomainError): void {
    const isServed = this.replies.has(contract.subject);
    this.replies.set(contract.subject, reply);
    if (isServed) return;
    this.link.connection.subscribe(contract.subject, {
      callback: (_, message) => {
        const handle = this.replies.get(contract.subject) as typeof reply;
        try {
          const value = handle(contract.request.parse(message.json()));
          if (value instanceof Error) throw value;
          message.respond(JSON.stringify({ value }));
        } catch (error) {
          message.respond(JSON.stringify({ error: serializeError(error) }));
        }
      },
    });
  }

  async stop(): Promise<void> {
    clearInterval(this.heartbeat);
    await this.app.close();
    await this.link.close();
    await this.stores.stop();
  }

  /** Creates an API key, by default active with 1000 requests an hour. @returns the raw key */
  createApiKey(record: Partial<ResolvedApiKey> = {}): string {
    const { key } = mintApiKey();
    this.records.set(hashKey(key).toString('hex'), {
      kind: 'api_key',
      keyId: randomUUID(),
      orgId: randomUUID(),
      partnerId: randomUUID(),
      scopes: [],
      rateLimit: 1_000,
      expiresAt: null,
      expiresInMs: null,
      sourceCidrs: [],
      siteIds: null,
      deviceGroupIds: null,
      generation: 1,
      status: 'active',
      createdBy: null,
      principalId: null,
      ...record,
    });
    return key;
  }

  /** Creates a key of a partner principal, by default active with 600 requests an hour. */
  createPartnerKey(record: Partial<ResolvedPartnerKey> = {}): ResolvedPartnerKey & { key: string } {
    const { key } = mintPartnerKey();
    const resolved: ResolvedPartnerKey = {
      kind: 'partner_key',
      keyId: randomUUID(),
      keyName: 'First',
      keyPrefix: key.slice(0, 18),
      principalId: randomUUID(),
      principalName: 'Documentation',
      partnerId: randomUUID(),
      scopes: [],
      rateLimit: 600,
      expiresAt: null,
      expiresInMs: null,
      sourceCidrs: [],
      generation: 1,
      status: 'active',
      ...record,
    };
    this.records.set(hashKey(key).toString('hex'), resolved);
    return { ...resolved, key };
  }

  /** Returns the body of `/openapi.json` of this service. */
  async openApi(): Promise<object> {
    const { port } = (this.app.getHttpServer() as Server).address() as AddressInfo;
    return (await request(`http://127.0.0.1:${port}`).get('/openapi.json')).body as object;
  }

  /** @param app  another replica than the first one */
  request(
    method: 'get' | 'head' | 'post' | 'put' | 'patch' | 'delete' | 'options',
    path: string,
    key?: string,
    app: INestApplication = this.app,
  ) {
    const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
    const call = request(`http://127.0.0.1:${port}/api/v1`)[method](path);
    return key === undefined ? call : call.set('X-API-Key', key);
  }
}
