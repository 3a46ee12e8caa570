import type { INestApplication } from '@nestjs/common';
import { connect, type NatsConnection } from 'nats';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateSync } from 'otplib';
import type pg from 'pg';
import supertest from 'supertest';
import { ensureStreams, natsOptions } from '@rmm/messaging';
import { migratedBy } from '@rmm/persistence/testing';
import { startService } from '@rmm/service-kit';
import { StoredOrganizations } from '@rmm/testing/fake-tenants';
import {
  adminPool,
  eventually,
  startStores,
  type Stores,
  type TestDatabase,
  type TestNats,
} from '@rmm/testing-services';
import { AppModule } from '../src/app.module.js';
import { readIdentityConfig, type MfaConfig } from '../src/config.js';
import { MIGRATIONS } from '../src/migrations/index.js';
import { serviceOptions } from '../src/service-options.js';

export const ADMIN = { email: 'root@platform.test', password: 'bootstrap-horse-battery-9' };
export const PASSWORD = 'correct-horse-battery-7';

let addresses = 0;
/** Returns a new client address, which shares no rate limit. */
export const freshAddress = (): string => `203.0.${Math.floor(++addresses / 250)}.${(addresses % 250) + 1}`;
export const freshEmail = (name = 'user'): string => `${name}-${randomBytes(5).toString('hex')}@users.test`;

export interface Mail {
  to: string;
  subject: string;
  text: string;
  sentAt: string;
}

export interface TestResponse {
  status: number;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- bodies are looked into freely in specs
  body: any;
  headers: Record<string, string>;
  text: string;
}

export interface CallOptions {
  bearer?: string;
  cookies?: Record<string, string>;
  headers?: Record<string, string>;
  /** A fresh client address unless given. */
  from?: string;
  /** Sends a body that is not JSON, such as a form. */
  send?: (request: supertest.Test) => supertest.Test;
}

/** One replica of identity on real stores. */
export class IdentityReplica {
  private stopping?: Promise<void>;

  constructor(
    readonly app: INestApplication,
    private readonly mailbox: string,
  ) {}

  get(path: string, options: CallOptions = {}): Promise<TestResponse> {
    return this.call('get', path, undefined, options);
  }

  post(path: string, body?: object, options: CallOptions = {}): Promise<TestResponse> {
    return this.call('post', path, body, options);
  }

  patch(path: string, body: object, options: CallOptions = {}): Promise<TestResponse> {
    return this.call('patch', path, body, options);
  }

  delete(path: string, options: CallOptions = {}): Promise<TestResponse> {
    return this.call('delete', path, undefined, options);
  }

  async call(
    method: 'get' | 'post' | 'put' | 'patch' | 'delete',
    path: string,
    body: object | undefined,
    options: CallOptions,
  ): Promise<TestResponse> {
    const { bearer, cookies, headers = {}, from = freshAddress(), send } = options;
    const request = supertest(this.app.getHttpServer() as never)
      [method](`/api/v1${path}`)
      .set('X-Forwarded-For', from);
    if (bearer) request.set('Authorization', `Bearer ${bearer}`);
    if (cookies)
      request.set(
        'Cookie',
        Object.entries(cookies).map(([name, value]) => `${name}=${value}`),
      );
    for (const [name, value] of Object.entries(headers)) request.set(name, value);
    if (send) return await send(request);
    return await (body === undefined ? request : request.send(body));
  }

  /** Lists the mails to an address, newest first. */
  async mails(to: string): Promise<Mail[]> {
    const files = (await readdir(this.mailbox)).filter((name) => name.endsWith('.json'));
    const mails = await Promise.all(
      files.map(async (name) => JSON.parse(await readFile(join(this.mailbox, name), 'utf8')) as Mail),
    );
    return mails.filter((mail) => mail.to === to).sort((a, b) => (a.sentAt < b.sentAt ? 1 : -1));
  }

  /** Waits until an address has `count` mails with a token; returns that of the newest. */
  mailedToken(to: string, count = 1): Promise<string> {
    return eventually(async () => {
      const tokens = (await this.mails(to)).flatMap(({ text }) => /token=([A-Za-z0-9_-]+)/.exec(text)?.[1] ?? []);
      const [token] = tokens;
      if (!token || tokens.length < count) throw new Error(`no mail with a token for ${to}`);
      return token;
    });
  }

  stop(): Promise<void> {
    return (this.stopping ??= this.app.close());
  }
}

/** The stores of one spec file and the replicas of identity that run on them. */
export class IdentityTestApp {
  private readonly running: IdentityReplica[] = [];
  private readonly organizations: StoredOrganizations;

  private constructor(
    readonly stores: Stores,
    readonly database: TestDatabase<'identity'>,
    readonly nats: TestNats,
    private readonly mailbox: string,
    private readonly connection: NatsConnection,
    private readonly admin: pg.Pool,
  ) {
    const query = async (sql: string, values: unknown[]) => ({ rows: await this.query<never>(sql, values) });
    this.organizations = new StoredOrganizations({ connection }, query);
  }

  static async start(): Promise<IdentityTestApp> {
    const stores = await startStores();
    const [database, nats, mailbox] = await Promise.all([
      stores.createDatabase(['identity'], migratedBy('identity', MIGRATIONS)),
      stores.nats({ logins: true }),
      mkdtemp(join(tmpdir(), 'identity-mailbox-')),
    ]);
    const connection = await connect(natsOptions(nats.adminUrl, 'identity-spec'));
    // As the launcher does: the logins of the services may not.
    await ensureStreams(connection);
    const admin = adminPool(database, { options: '-c search_path=identity' });
    return new IdentityTestApp(stores, database, nats, mailbox, connection, admin);
  }

  get environment(): NodeJS.ProcessEnv {
    const { owner, service, worker } = this.database.urls.identity;
    return {
      NODE_ENV: 'test',
      LOG_LEVEL: 'error',
      PORT: '0',
      DATABASE_URL: service,
      WORKER_DATABASE_URL: worker,
      MIGRATIONS_DATABASE_URL: owner,
      REDIS_URL: this.stores.redisUrl,
      NATS_URL: this.nats.urlFor('identity'),
      PUBLIC_API_URL: 'http://localhost:8080',
      PUBLIC_APP_URL: 'https://app.test',
      TRUSTED_PROXY_CIDRS: '127.0.0.1/32,::1/128',
      GLOBAL_RATE_LIMIT_PER_MINUTE: '100000',
      SECRET_ENCRYPTION_KEY: 'a sealing key for specs, long enough',
      IS_HOSTED: 'false',
      ENABLE_REGISTRATION: 'true',
      BOOTSTRAP_ADMIN_EMAIL: ADMIN.email,
      BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
      MAILBOX_DIR: this.mailbox,
      ARGON2_MEMORY_KIB: '1024',
    };
  }

  /** @param mfa  settings of MFA that no variable sets */
  async startReplica(overrides: NodeJS.ProcessEnv = {}, mfa: Partial<MfaConfig> = {}): Promise<IdentityReplica> {
    const read = readIdentityConfig({ ...this.environment, ...overrides });
    const config = { ...read, mfa: { ...read.mfa, ...mfa } };
    const running = new IdentityReplica(
      await startService({ ...serviceOptions, config, module: AppModule.forRoot(config) }),
      this.mailbox,
    );
    this.running.push(running);
    return running;
  }

  /** Runs SQL as superuser, to arrange and inspect rows. */
  async query<Row extends object>(sql: string, params: unknown[] = []): Promise<Row[]> {
    return (await this.admin.query<Row>(sql, params)).rows;
  }

  async stop(): Promise<void> {
    await Promise.allSettled(this.running.map((identity) => identity.stop()));
    this.organizations.stop();
    await this.connection.close();
    await this.admin.end();
    await this.stores.stop();
    await rm(this.mailbox, { recursive: true, force: true });
  }
}

/** Returns the TOTP code of a secret, `steps` half minutes from now. */
export const totpCode = (secret: string, steps = 0): string =>
  generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + steps * 30 });

/** Returns the cookies a response sets, by name; cleared ones are empty. */
export function cookiesOf(response: TestResponse): Record<string, string> {
  const set = (response.headers['set-cookie'] as unknown as string[] | undefined) ?? [];
  return Object.fromEntries(
    set.map((cookie) => {
      const pair = cookie.split(';')[0] ?? '';
      return [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
    }),
  );
}

export function expectStatus(response: TestResponse, status: number): TestResponse {
  if (response.status !== status) throw new Error(`${response.status} instead of ${status}: ${response.text}`);
  return response;
}

/** Returns the first response with a status. */
export function withStatus(responses: readonly TestResponse[], status: number): TestResponse {
  const found = responses.find((response) => response.status === status);
  if (!found) throw new Error(`no ${status} among ${responses.map((response) => response.status).join(', ')}`);
  return found;
}
