import { Controller, Get, type INestApplication, Post } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type pg from 'pg';
import request from 'supertest';
import {
  type AccessChanged,
  type AccessResolveRequest,
  type AccessSnapshot,
  CREDENTIALS_KEYS_RECORD_USAGE,
  CREDENTIALS_KEYS_RESOLVE,
  type CredentialChanged,
  IDENTITY_ACCESS_RESOLVE,
  type KeyResolveRequest,
  type KeyUsageRequest,
  type ResolvedKey,
} from '@rmm/contracts';
import { NatsLink, Outbox, RpcHandler, type OutgoingMessage } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { mintAgentToken, mintApiKey, mintPartnerKey } from '@rmm/secrets';
import { MetricsRegistry, OpenApiDocuments, RedisConnections } from '@rmm/service-kit';
import { adminPool, eventually } from '@rmm/testing-services';
import { AdjustableClock, AccessTestCluster } from '../test/access-test-cluster.js';
import { snapshot } from '../test/callers.js';
import { accessToken, signingKey } from '../test/tokens.js';
import { ACCESS_SOURCE, AGENT_SOURCE, KEY_SOURCE, VERIFICATION_KEYS } from './access.tokens.js';
import type { Caller } from './callers/caller.js';
import { CurrentCaller } from './callers/current-caller.decorator.js';
import { InvalidationFeeds } from './invalidation/invalidation-feeds.service.js';
import {
  AcceptsApiKey,
  AgentToken,
  KeysOnly,
  PartnerKey,
  Public,
  RequireMfa,
  RequirePermission,
  SignedIn,
} from './route-access/route-access.decorator.js';

const key = signingKey();
const apiKey = mintApiKey();
const partnerKey = mintPartnerKey();
const agentToken = mintAgentToken();
const [partnerId, orgId] = [randomUUID(), randomUUID()];

/** Records of identity and credentials; specs change them. */
const snapshots = new Map<string, AccessSnapshot>();
const keys = new Map<string, ResolvedKey>();
const usage: KeyUsageRequest[] = [];
const asked = { access: 0, keys: 0 };

const accessSource = {
  resolve: ({ userId }: AccessResolveRequest) => Promise.resolve((asked.access++, snapshots.get(userId) ?? null)),
};
const keySource = {
  resolve: (hash: Buffer) => Promise.resolve((asked.keys++, keys.get(hash.toString('hex')) ?? null)),
};

@Controller()
class IdentityHandlers {
  @RpcHandler(IDENTITY_ACCESS_RESOLVE)
  resolve(wanted: AccessResolveRequest) {
    return accessSource.resolve(wanted);
  }
}

@Controller()
class CredentialsHandlers {
  @RpcHandler(CREDENTIALS_KEYS_RESOLVE)
  resolve({ keyHash }: KeyResolveRequest) {
    return keySource.resolve(Buffer.from(keyHash, 'hex'));
  }

  @RpcHandler(CREDENTIALS_KEYS_RECORD_USAGE)
  record(batch: KeyUsageRequest) {
    usage.push(batch);
    return { recorded: batch.uses.length };
  }
}

const shown = (caller: Caller | undefined) => ({ kind: caller?.kind ?? null, tenant: caller?.tenant ?? null });

@Controller('things')
class ThingsController {
  @Get()
  @RequirePermission('sites:read')
  list(@CurrentCaller() caller: Caller) {
    return shown(caller);
  }

  @Get('me')
  @SignedIn()
  me(@CurrentCaller() caller: Caller) {
    return shown(caller);
  }

  @Get('open')
  @Public()
  open(@CurrentCaller() caller?: Caller) {
    return shown(caller);
  }

  @Get('fields')
  @AcceptsApiKey('devices:read')
  fields(@CurrentCaller() caller: Caller) {
    return shown(caller);
  }

  @Post('push')
  @AcceptsApiKey('devices:execute')
  @RequireMfa()
  push(@CurrentCaller() caller: Caller) {
    return shown(caller);
  }

  @Get('machines')
  @AcceptsApiKey('devices:read')
  @KeysOnly()
  machines(@CurrentCaller() caller: Caller) {
    return shown(caller);
  }

  @Get('export')
  @PartnerKey('sites:read')
  export(@CurrentCaller() caller: Caller) {
    return shown(caller);
  }

  @Post('export')
  @PartnerKey('sites:write')
  write(@CurrentCaller() caller: Caller) {
    return shown(caller);
  }

  @Get('agent')
  @AgentToken()
  agent(@CurrentCaller() caller: Caller) {
    return shown(caller);
  }
}

let cluster: AccessTestCluster;
let identity: INestApplication;
let credentials: INestApplication;
let dispatcher: INestApplication;
let admin: pg.Pool;
const clock = new AdjustableClock();

const startIdentity = () =>
  cluster.service('identity', {
    controllers: [IdentityHandlers],
    providers: [
      { provide: ACCESS_SOURCE, useValue: accessSource },
      { provide: VERIFICATION_KEYS, useValue: { find: () => Promise.resolve(key.publicKey) } },
    ],
  });

beforeAll(async () => {
  cluster = await AccessTestCluster.start();
  admin = adminPool(cluster.database);
  identity = await startIdentity();
  credentials = await cluster.service('credentials', {
    controllers: [CredentialsHandlers],
    providers: [
      { provide: KEY_SOURCE, useValue: keySource },
      { provide: VERIFICATION_KEYS, useValue: { find: () => Promise.resolve(key.publicKey) } },
    ],
  });
  // Publishes the heartbeat of organizations, without which no API key is accepted.
  await cluster.service('provisioning');
  dispatcher = await cluster.service('webhook-dispatcher', {
    clock,
    controllers: [ThingsController],
    providers: [
      {
        provide: VERIFICATION_KEYS,
        useValue: { find: (kid: string) => Promise.resolve(kid === key.kid ? key.publicKey : null) },
      },
      {
        provide: AGENT_SOURCE,
        useValue: {
          findByTokenHash: (hash: Buffer) =>
            Promise.resolve(
              hash.equals(agentToken.keyHash)
                ? { agentId: 'agent-1', deviceId: 'device-1', orgId, partnerId, siteId: null }
                : null,
            ),
        },
      },
    ],
  });
});
afterAll(async () => {
  await admin.end();
  await cluster.stop();
});

beforeEach(() => {
  snapshots.set('11111111-1111-4111-8111-111111111111', snapshot({ partnerId }));
  keys.set(apiKey.keyHash.toString('hex'), {
    kind: 'api_key',
    keyId: randomUUID(),
    orgId,
    partnerId,
    scopes: ['devices:read'],
    rateLimit: 1_000,
    expiresAt: null,
    expiresInMs: null,
    sourceCidrs: [],
    siteIds: null,
    deviceGroupIds: null,
    generation: 1,
    status: 'active',
    createdBy: '11111111-1111-4111-8111-111111111111',
    principalId: null,
  });
  keys.set(partnerKey.keyHash.toString('hex'), {
    kind: 'partner_key',
    keyId: randomUUID(),
    keyName: 'First',
    keyPrefix: partnerKey.keyPrefix,
    principalId: randomUUID(),
    principalName: 'Documentation',
    partnerId,
    scopes: ['sites:read'],
    rateLimit: 600,
    expiresAt: null,
    expiresInMs: null,
    sourceCidrs: [],
    generation: 1,
    status: 'active',
  });
  usage.splice(0);
});
beforeEach(() => announce(credentials, 'credential.changed', keysAll()));
beforeEach(() =>
  announce(identity, 'access.changed', { userIds: ['11111111-1111-4111-8111-111111111111'], reason: 'spec' }),
);

const keysAll = (): CredentialChanged => ({
  kind: 'api_key',
  keyIds: [],
  keyHashes: [...keys.keys()],
  reason: 'updated',
});

/** Publishes a change through the outbox; returns when the dispatcher has received it. */
async function announce(
  app: INestApplication,
  type: 'access.changed' | 'credential.changed',
  data: AccessChanged | CredentialChanged,
): Promise<void> {
  const marker = randomUUID();
  const received = new Promise<void>((resolve) =>
    dispatcher
      .get(InvalidationFeeds)
      .subscribe(type, (change) => ('marker' in change && change.marker === marker ? resolve() : undefined)),
  );
  await dispatcher.get(NatsLink).connection.flush(); // the server knows that we listen before anything is said
  await app.get(WorkerDatabase).transaction((tx) =>
    app.get(Outbox).publish(tx, {
      stream: 'broadcast',
      type,
      aggregateId: 'spec',
      partnerId: null,
      orgId: null,
      data: { ...data, marker },
    } as unknown as OutgoingMessage),
  );
  await received;
}

const http = () => request(dispatcher.getHttpServer() as Server);
const bearer = (changes: Parameters<typeof accessToken>[2] = {}) =>
  `Bearer ${accessToken(key, clock.nowMs(), { partnerId, ...changes })}`;
const get = (path: string) => http().get(`/api/v1/things${path}`);

describe('a request with an access token', () => {
  it('passes the caller to the handler and reads the snapshot once', async () => {
    const response = await get('').set('authorization', bearer()).expect(200);
    expect(response.body).toMatchObject({
      kind: 'user',
      tenant: { scope: 'partner', partnerId, userId: '11111111-1111-4111-8111-111111111111' },
    });
    // The first heartbeat of a publisher whose beginning was missed flushes once.
    await eventually(async () => {
      const before = asked.access;
      for (let i = 0; i < 3; i++) await get('').set('authorization', bearer()).expect(200);
      expect(asked.access).toBe(before);
    });
  });

  it('returns 401 once the end of the session is broadcast', async () => {
    await get('/me').set('authorization', bearer()).expect(200);
    // Without the broadcast the snapshot of the first request is used for two minutes.
    snapshots.set('11111111-1111-4111-8111-111111111111', snapshot({ partnerId, sessionRevoked: true }));
    await announce(identity, 'access.changed', { userIds: ['11111111-1111-4111-8111-111111111111'], reason: 'logout' });
    const response = await get('/me').set('authorization', bearer()).expect(401);
    expect(response.body).toMatchObject({ code: 'unauthenticated', error: 'Unauthorized' });
  });

  it('returns 403 with the missing permission and writes an audit row', async () => {
    snapshots.set('11111111-1111-4111-8111-111111111111', snapshot({ partnerId, permissions: [] }));
    await announce(identity, 'access.changed', { userIds: ['11111111-1111-4111-8111-111111111111'], reason: 'role' });
    const response = await get('').set('authorization', bearer()).set('x-forwarded-for', '198.51.100.77').expect(403);
    expect(response.body).toMatchObject({ code: 'permission_denied', required: ['sites:read'] });
    const row = await eventually(() => auditRow('access.denied'));
    expect(row).toMatchObject({
      actor: { id: '11111111-1111-4111-8111-111111111111' },
      data: { result: 'denied', ipAddress: '198.51.100.77', details: { reason: 'permission_denied' } },
    });
  });
});

/** The latest audit row of this service, which must be of this action. */
async function auditRow(action: string): Promise<object> {
  const { connect } = await import('nats');
  const url = new URL(cluster.nats.adminUrl);
  const nc = await connect({ servers: url.host, user: url.username, pass: url.password });
  try {
    const message = await (
      await nc.jetstreamManager()
    ).streams.getMessage('RMM_AUDIT', { last_by_subj: 'rmm.audit.webhook-dispatcher' });
    const row = message.json<{ type: string }>();
    expect(row.type).toBe(action);
    return row;
  } finally {
    await nc.close();
  }
}

describe('a route', () => {
  it.each(['', '/me'])('GET /things%s returns 401 without a credential', async (path) => {
    expect((await get(path).expect(401)).body).toMatchObject({ code: 'unauthenticated' });
  });

  it.each(['', '/me', '/open', '/agent'])(
    'GET /things%s returns 401 for an API key without a look-up',
    async (path) => {
      const before = asked.keys;
      const { code } = (await get(path).set('x-api-key', apiKey.key).expect(401)).body;
      expect(code).toBe(path === '/agent' ? 'unauthenticated' : 'api_key_not_accepted_here');
      expect(asked.keys).toBe(before);
    },
  );

  it('that is public has no caller', async () => {
    expect((await get('/open').expect(200)).body).toEqual({ kind: null, tenant: null });
  });

  it('for agents accepts agent tokens only', async () => {
    const response = await get('/agent').set('authorization', `Bearer ${agentToken.key}`).expect(200);
    expect(response.body).toMatchObject({ kind: 'agent', tenant: { scope: 'organization', orgId } });
    await get('/agent').set('authorization', `Bearer ${mintAgentToken().key}`).expect(401);
    await get('/agent').set('authorization', bearer()).expect(401);
    await get('/me').set('authorization', `Bearer ${agentToken.key}`).expect(401);
  });
});

describe('a request with an API key', () => {
  it('is accepted with rate headers, takes precedence over a bearer token, and is counted', async () => {
    const response = await get('/fields').set('x-api-key', apiKey.key).set('authorization', bearer()).expect(200);
    expect(response.body).toMatchObject({ kind: 'api_key', tenant: { scope: 'organization', partnerId, orgId } });
    expect(response.headers).toMatchObject({ 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '999' });
    expect(Number(response.headers['x-ratelimit-reset'])).toBeGreaterThan(Date.now() / 1_000 + 3_500);
    const [batch] = await eventually(() => {
      expect(usage).not.toHaveLength(0);
      return usage;
    });
    expect(batch.uses).toEqual([expect.objectContaining({ kind: 'api_key', count: 1 })]);
  });

  it('returns 403 with rate headers without the scope', async () => {
    const response = await http().post('/api/v1/things/push').set('x-api-key', apiKey.key).expect(403);
    expect(response.body).toMatchObject({
      code: 'api_key_scope_required',
      error: 'API key does not have required permissions',
    });
    expect(response.headers['x-ratelimit-remaining']).toBe('999');
  });

  it('is required on routes with @KeysOnly', async () => {
    await get('/machines').set('x-api-key', apiKey.key).expect(200);
    for (const call of [get('/machines'), get('/machines').set('authorization', bearer())]) {
      expect((await call.expect(401)).body).toMatchObject({ code: 'invalid_api_key' });
    }
    await get('/fields').set('authorization', bearer()).expect(200);
  });

  it('is accepted on a route with @RequireMfa, which applies to users only', async () => {
    const record = keys.get(apiKey.keyHash.toString('hex'));
    if (record) record.scopes = ['devices:execute'];
    await announce(credentials, 'credential.changed', keysAll());
    await http().post('/api/v1/things/push').set('x-api-key', apiKey.key).expect(201);
    const user = await http()
      .post('/api/v1/things/push')
      .set('authorization', bearer({ mfa: false }))
      .expect(403);
    expect(user.body).toMatchObject({ code: 'mfa_required' });
    await http().post('/api/v1/things/push').set('authorization', bearer()).expect(201);
  });

  it('returns 429 with Retry-After over the limit and does not count the refusal', async () => {
    const record = keys.get(apiKey.keyHash.toString('hex'));
    if (record) record.rateLimit = 2;
    await announce(credentials, 'credential.changed', keysAll());
    await get('/fields').set('x-api-key', apiKey.key).expect(200);
    await get('/fields').set('x-api-key', apiKey.key).expect(200);
    const response = await get('/fields').set('x-api-key', apiKey.key).expect(429);
    expect(response.body).toMatchObject({ code: 'rate_limited' });
    expect(response.body.retryAfter).toBe(Number(response.headers['retry-after']));
    expect(response.headers).toMatchObject({ 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '0' });
  });

  it('returns 401 once the revocation is broadcast', async () => {
    await get('/fields').set('x-api-key', apiKey.key).expect(200);
    const record = keys.get(apiKey.keyHash.toString('hex'));
    if (record) record.status = 'revoked';
    await announce(credentials, 'credential.changed', { ...keysAll(), reason: 'revoked' });
    await get('/fields').set('x-api-key', apiKey.key).expect(401);
  });

  it('reads the key again when its creator changes', async () => {
    await get('/fields').set('x-api-key', apiKey.key).expect(200);
    keys.delete(apiKey.keyHash.toString('hex'));
    await announce(identity, 'access.changed', {
      userIds: ['11111111-1111-4111-8111-111111111111'],
      reason: 'removed',
    });
    await get('/fields').set('x-api-key', apiKey.key).expect(401);
  });

  it.each([
    ['an unknown key', () => mintApiKey().key],
    ['a partner key', () => partnerKey.key],
    ['another prefix', () => 'sk_live_abcdefghijklmnopqrstuvwxyz0123456789'],
    ['an empty header', () => ''],
  ])('returns the same 401 for %s', async (_, create) => {
    const { requestId, ...body } = (await get('/fields').set('x-api-key', create()).expect(401)).body;
    expect(requestId).toBeTruthy();
    expect(body).toEqual({ error: 'Invalid API key', message: 'Invalid API key', code: 'invalid_api_key' });
  });
});

describe('a request with a partner key', () => {
  it('is accepted for its partner', async () => {
    const response = await get('/export').set('x-api-key', partnerKey.key).expect(200);
    expect(response.body).toMatchObject({
      kind: 'partner_key',
      tenant: { scope: 'partner', partnerId, orgAccess: 'all' },
    });
    expect(response.headers).toMatchObject({ 'x-ratelimit-limit': '600', 'x-ratelimit-remaining': '599' });
    expect(response.headers['ratelimit-policy']).toBe('"reads";q=600;w=3600');
    expect(response.headers.ratelimit).toMatch(/^"reads";r=599;t=\d+$/);
  });

  it('counts writes in a separate window', async () => {
    const response = await http().post('/api/v1/things/export').set('x-api-key', partnerKey.key).expect(403);
    expect(response.body).toMatchObject({ code: 'partner_api_scope_required', required: ['sites:write'] });
    expect(response.headers).toMatchObject({ 'x-ratelimit-limit': '120', 'x-ratelimit-remaining': '119' });
    expect(response.headers['ratelimit-policy']).toBe('"writes";q=120;w=3600');
  });

  it.each([
    ['no key', undefined, 'partner_api_auth_required'],
    ['an ordinary key', apiKey.key, 'api_key_not_accepted_here'],
    ['an unknown key', mintPartnerKey().key, 'partner_api_invalid_credentials'],
    ['nonsense', 'nonsense', 'partner_api_invalid_credentials'],
  ])('returns 401 for %s', async (_, presented, code) => {
    const attempt = presented === undefined ? get('/export') : get('/export').set('x-api-key', presented);
    expect((await attempt.expect(401)).body.code).toBe(code);
  });

  it('returns 401 from an address that is not listed', async () => {
    const record = keys.get(partnerKey.keyHash.toString('hex'));
    if (record?.kind === 'partner_key') record.sourceCidrs = ['198.51.100.0/24'];
    await announce(credentials, 'credential.changed', keysAll());
    const from = (address: string) => get('/export').set('x-api-key', partnerKey.key).set('x-forwarded-for', address);
    await from('198.51.100.9').expect(200);
    expect((await from('203.0.113.9').expect(401)).body.code).toBe('partner_api_invalid_credentials');
  });
});

describe('the metrics', () => {
  const valueOf = async (name: string, labels: Record<string, string> = {}, metricName = name) => {
    const metric = await dispatcher.get(MetricsRegistry).registry.getSingleMetric(name)?.get();
    const values: { value: number; labels: object; metricName?: string }[] = metric?.values ?? [];
    return values.find((one) => {
      const given = one.labels as Record<string, unknown>;
      const isNamed = one.metricName === undefined || one.metricName === metricName;
      return isNamed && Object.entries(labels).every(([label, value]) => given[label] === value);
    })?.value;
  };
  const authentications = async (kind: string, outcome: string) =>
    (await valueOf('rmm_authentications_total', { kind, outcome })) ?? 0;

  it('count requests by the kind of their credential and the outcome', async () => {
    const read = () =>
      Promise.all([
        authentications('api_key', 'accepted'),
        authentications('api_key', 'invalid'),
        authentications('partner_key', 'forbidden'),
        authentications('agent', 'invalid'),
        authentications('user', 'invalid'),
      ]);
    const before = await read();
    await get('/fields').set('x-api-key', apiKey.key).expect(200);
    await get('/fields').set('x-api-key', mintApiKey().key).expect(401);
    await http().post('/api/v1/things/export').set('x-api-key', partnerKey.key).expect(403);
    await get('/agent').set('authorization', 'Bearer agt_unknown').expect(401);
    await get('').expect(401);
    expect(await read()).toEqual(before.map((count) => count + 1));
  });

  it('measure how long an invalidation takes, and the age and size of what is cached', async () => {
    const count = () => valueOf('rmm_access_invalidation_seconds', {}, 'rmm_access_invalidation_seconds_count');
    const before = (await count()) ?? 0;
    await announce(identity, 'access.changed', { userIds: [randomUUID()], reason: 'spec' });
    expect(await count()).toBeGreaterThan(before);
    await get('').set('authorization', bearer()).expect(200);
    expect(await valueOf('rmm_access_cached', { cache: 'snapshots' })).toBeGreaterThan(0);
    await eventually(async () =>
      expect(await valueOf('rmm_access_feed_age_seconds', { feed: 'access' })).toBeLessThan(3),
    );
    const gaps = (await valueOf('rmm_access_feed_gaps_total', { feed: 'access' })) ?? 0;
    dispatcher.get(InvalidationFeeds).access.onHeartbeat({ publisher: 'other', sequence: 7, intervalMs: 1_000 });
    expect(await valueOf('rmm_access_feed_gaps_total', { feed: 'access' })).toBe(gaps + 1);
  });
});

describe('failed key authentications', () => {
  it('block the address, also for valid keys, and no other address', async () => {
    const from = (address: string, presented: string) =>
      get('/fields').set('x-api-key', presented).set('x-forwarded-for', address);
    for (let i = 0; i < 30; i++) {
      await Promise.all(Array.from({ length: 10 }, () => from('192.0.2.66', 'guess').expect(401)));
    }
    const before = asked.keys;
    const response = await from('192.0.2.66', 'guess').expect(429);
    expect(response.body.retryAfter).toBeGreaterThanOrEqual(1);
    await from('192.0.2.66', apiKey.key).expect(429);
    expect(asked.keys).toBe(before);
    await from('192.0.2.67', apiKey.key).expect(200);
    clock.advance(61_000);
    await eventually(() => from('192.0.2.66', apiKey.key).expect(200));
  });
});

describe('the OpenAPI document', () => {
  it('contains the credentials and the required access of each operation', () => {
    const { paths } = dispatcher.get(OpenApiDocuments).own();
    const things = paths['/api/v1/things/fields'] as
      { get?: { security?: object[]; 'x-required-access'?: object } } | undefined;
    expect(things?.get?.security).toEqual([{ apiKey: [] }, { bearer: [] }]);
    expect(things?.get?.['x-required-access']).toEqual({ kind: 'api-key', scopes: ['devices:read'] });
    const machines = paths['/api/v1/things/machines'] as typeof things;
    expect(machines?.get?.security).toEqual([{ apiKey: [] }]);
    expect(machines?.get?.['x-required-access']).toEqual({ kind: 'api-key', scopes: ['devices:read'], keysOnly: true });
  });
});

describe('an unavailable dependency', () => {
  it('returns 503 for keys without Redis and still serves users', async () => {
    await cluster.stores.redis.stop();
    const response = await get('/fields').set('x-api-key', apiKey.key).expect(503);
    expect(response.body).toMatchObject({ code: 'service_unavailable' });
    expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect((await get('/fields').set('x-api-key', 'guess').expect(503)).body.code).toBe('service_unavailable');
    await get('/me').set('authorization', bearer()).expect(200);
    await cluster.stores.redis.start();
    await eventually(() => get('/fields').set('x-api-key', apiKey.key).expect(200));
    expect(dispatcher.get(RedisConnections).shared.status).toBe('ready');
  });

  it('returns 503 for users and keys after thirty seconds without a heartbeat of identity', async () => {
    await get('/me').set('authorization', bearer()).expect(200);
    await cluster.end(identity);
    await get('/me').set('authorization', bearer()).expect(200);
    clock.advance(31_000);
    expect((await get('/me').set('authorization', bearer()).expect(503)).body.code).toBe('service_unavailable');
    await get('/fields').set('x-api-key', apiKey.key).expect(503);
    await get('/open').expect(200);
    identity = await startIdentity();
    await eventually(() => get('/me').set('authorization', bearer()).expect(200));
  });

  it('discards cached snapshots after a reconnect to NATS', async () => {
    await get('/me').set('authorization', bearer()).expect(200);
    await cluster.nats.stop();
    snapshots.set('11111111-1111-4111-8111-111111111111', snapshot({ partnerId, userStatus: 'disabled' }));
    await cluster.nats.start();
    await eventually(() => get('/me').set('authorization', bearer()).expect(401));
  });
});

describe('the start', () => {
  it('fails and names each route without valid access', async () => {
    @Controller('closed')
    class ClosedController {
      @Get()
      none() {
        return 'unreachable';
      }
      @Get('two')
      @Public()
      @SignedIn()
      two() {
        return 'unreachable';
      }
      @Get('agent')
      @AgentToken()
      agent() {
        return 'unreachable';
      }
    }
    const start = cluster.service('provisioning', { controllers: [ClosedController] });
    await expect(start).rejects.toThrow(
      /ClosedController\.none has no access decorator[^]*ClosedController\.two has 2 access decorators[^]*no AGENT_SOURCE is provided/,
    );
  });
});
