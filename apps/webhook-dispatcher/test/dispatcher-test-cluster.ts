import type { INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { connect, type NatsConnection } from 'nats';
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import {
  type AuditAction,
  type AuditEntry,
  IDENTITY_MAIL_SEND,
  type MailSendRequest,
  type PartnerStatus,
  STREAMS,
} from '@rmm/contracts';
import { ensureStreams, JetStreamServer, natsOptions } from '@rmm/messaging';
import { migratedBy } from '@rmm/persistence/testing';
import { configureApp, HealthRegistry } from '@rmm/service-kit';
import { FakePartners, StoredOrganizations } from '@rmm/testing/fake-tenants';
import { adminPool, eventually, startStores, type Stores, type TestDatabase } from '@rmm/testing-services';
import { AppModule } from '../src/app.module.js';
import { readWebhookDispatcherConfig, type WebhookDispatcherConfig } from '../src/config.js';
import { MIGRATIONS } from '../src/migrations/index.js';
import type { RetryPolicy } from '../src/sending/retry-delay.js';
import type { CreateWebhookDto } from '../src/webhooks/dto/create-webhook.dto.js';
import type { WebhookDto } from '../src/webhooks/dto/webhook.dto.js';
import { WebhooksService } from '../src/webhooks/webhooks.service.js';
import { SCHEMA } from './dispatcher-test-database.js';
import { organizationCaller, type Organization } from './organizations.js';

export { organizationCaller, type Organization };

/** Private stores and replicas of the dispatcher on them, with access to what they store and publish. */
export class DispatcherTestCluster {
  private readonly apps = new Set<INestApplication>();

  private constructor(
    readonly stores: Stores,
    readonly database: TestDatabase<typeof SCHEMA>,
    private readonly natsUrl: string,
    readonly admin: pg.Pool,
    readonly publisher: NatsConnection,
    private readonly organizations: StoredOrganizations,
    /** Owned by identity. */
    readonly partners: FakePartners,
  ) {}

  /** @param logins  whether the dispatcher may use its own subjects only, as in production */
  static async open({ logins = false } = {}): Promise<DispatcherTestCluster> {
    const stores = await startStores();
    const [database, nats] = await Promise.all([
      stores.createDatabase([SCHEMA], migratedBy(SCHEMA, MIGRATIONS)),
      stores.nats({ logins }),
    ]);
    const admin = adminPool(database, { options: `-c search_path=${SCHEMA}`, max: 4 });
    const publisher = await connect(natsOptions(nats.adminUrl, 'spec'));
    await ensureStreams(publisher);
    const natsUrl = logins ? nats.urlFor('webhook-dispatcher') : nats.adminUrl;
    const query = (sql: string, values: unknown[]) => admin.query(sql, values);
    const organizations = new StoredOrganizations({ connection: publisher }, query);
    const partners = new FakePartners({ connection: publisher });
    return new DispatcherTestCluster(stores, database, natsUrl, admin, publisher, organizations, partners);
  }

  async close(): Promise<void> {
    await Promise.all([...this.apps].map((app) => app.close()));
    this.organizations.stop();
    await this.publisher.close();
    await this.admin.end();
    await this.stores.stop();
  }

  env(changes: Record<string, string> = {}): Record<string, string> {
    const { owner, service, worker } = this.database.urls[SCHEMA];
    return {
      NODE_ENV: 'test',
      LOG_LEVEL: 'error',
      PORT: '0',
      IS_HOSTED: 'false',
      OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8',
      DATABASE_URL: service,
      WORKER_DATABASE_URL: worker,
      MIGRATIONS_DATABASE_URL: owner,
      REDIS_URL: this.stores.redisUrl,
      NATS_URL: this.natsUrl,
      JWKS_URL: 'http://127.0.0.1:9/jwks.json',
      SECRET_ENCRYPTION_KEY: 'a key for the specs of the webhook dispatcher',
      SHUTDOWN_GRACE_SECONDS: '5',
      ...changes,
    };
  }

  /** Starts a replica of the dispatcher. */
  async start(changes: Record<string, string> = {}, imports: unknown[] = []): Promise<INestApplication> {
    const config: WebhookDispatcherConfig = readWebhookDispatcherConfig(this.env(changes));
    const module = await Test.createTestingModule({
      imports: [AppModule.forRoot(config), ...(imports as [])],
    }).compile();
    const app = module.createNestApplication<NestExpressApplication>({ bodyParser: false });
    configureApp(app, { config, openApi: { title: 'spec', description: 'spec' } });
    app.connectMicroservice({ strategy: app.get(JetStreamServer) });
    await app.init();
    app.get(HealthRegistry).state = 'ready';
    this.apps.add(app);
    return app;
  }

  async stop(app: INestApplication): Promise<void> {
    this.apps.delete(app);
    await app.close();
  }

  async organization(partnerId: string = randomUUID()): Promise<Organization> {
    const orgId = randomUUID();
    await this.admin.query(
      `insert into organization_directory (org_id, partner_id, name, slug, status, version)
       values ($1, $2, 'Org', 'org', 'active', 1)`,
      [orgId, partnerId],
    );
    return { orgId, partnerId };
  }

  /** Changes the status of a partner or organization as their owners publish it. */
  async setStatus({ orgId, partnerId }: Organization, of: 'organization' | 'partner', status: string): Promise<void> {
    if (of === 'organization') {
      const change = 'update organization_directory set status = $2, version = version + 1 where org_id = $1';
      await this.admin.query(change, [orgId, status]);
      return;
    }
    const version = Date.now();
    this.partners.add({ partnerId, status: status as PartnerStatus, version });
    await this.admin.query(
      `insert into partner_directory (partner_id, status, version) values ($1, $2, $3)
       on conflict (partner_id) do update set status = excluded.status, version = excluded.version`,
      [partnerId, status, version],
    );
  }

  /** Publishes a domain event as another service would. @returns its id */
  async emit(
    { orgId, partnerId }: { orgId: string; partnerId: string | null },
    type = 'device.enrolled',
    changes: { id?: string; timestamp?: string; data?: object } = {},
  ): Promise<string> {
    const { id = randomUUID(), timestamp = new Date().toISOString(), data = { deviceId: 'd-1' } } = changes;
    const message = JSON.stringify({ id, type, timestamp, orgId, partnerId, data });
    await this.publisher.jetstream().publish(`rmm.events.${orgId}.${type}`, message);
    return id;
  }

  /** Accepts mail as identity does. @returns the requests; later ones are added as they arrive */
  collectMails(accepted = true): MailSendRequest[] {
    const mails: MailSendRequest[] = [];
    this.publisher.subscribe(IDENTITY_MAIL_SEND.subject, {
      callback: (_, message) => {
        mails.push(message.json<MailSendRequest>());
        message.respond(JSON.stringify({ value: { accepted } }));
      },
    });
    return mails;
  }

  /** Returns the published audit entries of a resource, in order. @throws when there are none */
  async findAuditEntries(resourceId: string): Promise<{ data: AuditEntry }[]> {
    const manager = await this.publisher.jetstreamManager();
    const found: { data: AuditEntry }[] = [];
    const { state } = await manager.streams.info(STREAMS.audit.name);
    for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
      const message = await manager.streams.getMessage(STREAMS.audit.name, { seq });
      const entry = message.json<{ data: AuditEntry }>();
      if (entry.data.resourceId === resourceId) found.push(entry);
    }
    if (found.length === 0) throw new Error('no audit entry was published');
    return found;
  }

  /** Waits until exactly these actions are audited for a resource, in order. */
  async waitForAuditActions(resourceId: string, expected: readonly AuditAction[]): Promise<void> {
    await eventually(async () => {
      const entries = await this.findAuditEntries(resourceId);
      expect(entries.map(({ data }) => data.action)).toEqual(expected);
    });
  }

  async rows<Row = Record<string, unknown>>(sql: string, params: unknown[] = []): Promise<Row[]> {
    const result = await this.admin.query(sql, params);
    return result.rows as Row[];
  }

  /** Overrides the retry policy of a webhook, which the API cannot change. */
  async setRetryPolicy(webhookId: string, policy: Partial<RetryPolicy>): Promise<void> {
    await this.rows('update webhook set retry_policy = $2 where id = $1', [webhookId, policy]);
  }

  deliveries(
    webhookId: string,
  ): Promise<{ id: string; status: string; attempt: number; error_message: string | null }[]> {
    return this.rows(
      'select id, status, attempt, error_message from delivery where webhook_id = $1 order by created_at, id',
      [webhookId],
    );
  }
}

export function createWebhook(
  app: INestApplication,
  organization: Organization,
  url: string,
  changes: Partial<CreateWebhookDto> = {},
): Promise<WebhookDto> {
  return app.get(WebhooksService).create(organizationCaller(organization), {
    name: 'Hook',
    url,
    events: ['device.*'],
    ...changes,
  });
}
