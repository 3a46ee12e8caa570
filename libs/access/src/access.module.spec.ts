import { Controller, Get, type INestApplication, Post } from '@nestjs/common';
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
import { OpenApiDocuments, RedisConnections } from '@rmm/service-kit';
import { adminPool, eventually } from '@rmm/testing-services';
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type pg from 'pg';
import request from 'supertest';
import { snapshot } from '../test/callers.js';
import { PushedClock, SpecFleet } from '../test/fleet.js';
import { accessToken, signingKey } from '../test/tokens.js';
import { ACCESS_SOURCE, AGENT_SOURCE, KEY_SOURCE, VERIFICATION_KEYS } from './access.tokens.js';
import type { Caller } from './callers/caller.js';
import { CurrentCaller } from './callers/current-caller.js';
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
import { AccessFeeds } from './feed/access-feeds.js';

jest.setTimeout(60_000);

const key = signingKey();
const apiKey = mintApiKey();
const partnerKey = mintPartnerKey();
const agentToken = mintAgentToken();
const [partnerId, orgId] = [randomUUID(), randomUUID()];

/** What identity and credentials know; specs change it. */
const people = new Map<string, AccessSnapshot>();
const keys = new Map<string, ResolvedKey>();
const usage: KeyUsageRequest[] = [];
const asked = { access: 0, keys: 0 };

const accessSource = {
  resolve: ({ userId }: AccessResolveRequest) => Promise.resolve((asked.access++, people.get(userId) ?? null)),
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

let fleet: SpecFleet;
let identity: INestApplication;
let credentials: INestApplication;
let dispatcher: INestApplication;
let admin: pg.Pool;
const clock = new PushedClock();

const startIdentity = () =>
  fleet.service('identity', {
    controllers: [IdentityHandlers],
    providers: [
      { provide: ACCESS_SOURCE, useValue: accessSource },
      { provide: VERIFICATION_KEYS, useValue: { find: () => Promise.resolve(key.publicKey) } },
    ],
  });

beforeAll(async () => {
  fleet = await SpecFleet.start();
  admin = adminPool(fleet.database);
  identity = await startIdentity();
  credentials = await fleet.service('credentials', {
    controllers: [CredentialsHandlers],
    providers: [
      { provide: KEY_SOURCE, useValue: keySource },
      { provide: VERIFICATION_KEYS, useValue: { find: () => Promise.resolve(key.publicKey) } },
    ],
  });
  dispatcher = await fleet.service('webhook-dispatcher', {
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
  await fleet.stop();
});

beforeEach(() => {
  people.set('11111111-1111-4111-8111-111111111111', snapshot({ partnerId }));
  keys.set(apiKey.keyHash.toString('hex'), {
    kind: 'api_key',
    keyId: randomUUID(),
    orgId,
    partnerId,
    scopes: ['devices:read'],
    rateLimit: 1_000,
    expiresAt: null,
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
    principalId: randomUUID(),
    partnerId,
    scopes: ['sites:read'],
    rateLimit: 600,
    expiresAt: null,
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

/** Through the outbox, as a service announces a change; returns once the dispatcher has heard it. */
async function announce(
  app: INestApplication,
  type: 'access.changed' | 'credential.changed',
  data: AccessChanged | CredentialChanged,
): Promise<void> {
  const marker = randomUUID();
  const heard = new Promise<void>((resolve) =>
    dispatcher
      .get(AccessFeeds)
      .hear(type, (change) => ('marker' in change && change.marker === marker ? resolve() : undefined)),
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
  await heard;
}

const http = () => request(dispatcher.getHttpServer() as Server);
const bearer = (changes: Parameters<typeof accessToken>[2] = {}) =>
  `Bearer ${accessToken(key, clock.nowMs(), { partnerId, ...changes })}`;
const get = (path: string) => http().get(`/api/v1/things${path}`);

describe('a user', () => {
  it('is let in, known to the handler, and asked of identity once', async () => {
    const answer = await get('').set('authorization', bearer()).expect(200);
    expect(answer.body).toMatchObject({
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

  it('whose session ends is out as soon as the broadcast is heard', async () => {
    await get('/me').set('authorization', bearer()).expect(200);
    people.set('11111111-1111-4111-8111-111111111111', snapshot({ partnerId, sessionRevoked: true }));
    await get('/me').set('authorization', bearer()).expect(200);
    await announce(identity, 'access.changed', { userIds: ['11111111-1111-4111-8111-111111111111'], reason: 'logout' });
    const answer = await get('/me').set('authorization', bearer()).expect(401);
    expect(answer.body).toMatchObject({ code: 'unauthenticated', error: 'Unauthorized' });
  });

  it('without the permission is told which, and leaves an audit row', async () => {
    people.set('11111111-1111-4111-8111-111111111111', snapshot({ partnerId, permissions: [] }));
    await announce(identity, 'access.changed', { userIds: ['11111111-1111-4111-8111-111111111111'], reason: 'role' });
    const answer = await get('').set('authorization', bearer()).set('x-forwarded-for', '198.51.100.77').expect(403);
    expect(answer.body).toMatchObject({ code: 'permission_denied', required: ['sites:read'] });
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
  const url = new URL(fleet.nats.adminUrl);
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

describe('no door is open by mistake', () => {
  it.each(['', '/me'])('GET /things%s without credential is 401', async (path) => {
    expect((await get(path).expect(401)).body).toMatchObject({ code: 'unauthenticated' });
  });

  it.each(['', '/me', '/open', '/agent'])('GET /things%s with an API key alone names it', async (path) => {
    const before = asked.keys;
    const { code } = (await get(path).set('x-api-key', apiKey.key).expect(401)).body;
    expect(code).toBe(path === '/agent' ? 'unauthenticated' : 'api_key_not_accepted_here');
    expect(asked.keys).toBe(before);
  });

  it('a public route asks nothing and knows nobody', async () => {
    expect((await get('/open').expect(200)).body).toEqual({ kind: null, tenant: null });
  });

  it('an agent is known by its token only', async () => {
    const answer = await get('/agent').set('authorization', `Bearer ${agentToken.key}`).expect(200);
    expect(answer.body).toMatchObject({ kind: 'agent', tenant: { scope: 'organization', orgId } });
    await get('/agent').set('authorization', `Bearer ${mintAgentToken().key}`).expect(401);
    await get('/agent').set('authorization', bearer()).expect(401);
    await get('/me').set('authorization', `Bearer ${agentToken.key}`).expect(401);
  });
});

describe('an API key', () => {
  it('is let in with rate headers, wins over a bearer token, and its use is counted', async () => {
    const answer = await get('/fields').set('x-api-key', apiKey.key).set('authorization', bearer()).expect(200);
    expect(answer.body).toMatchObject({ kind: 'api_key', tenant: { scope: 'organization', partnerId, orgId } });
    expect(answer.headers).toMatchObject({ 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '999' });
    expect(Number(answer.headers['x-ratelimit-reset'])).toBeGreaterThan(Date.now() / 1_000 + 3_500);
    const [batch] = await eventually(() => {
      expect(usage).not.toHaveLength(0);
      return usage;
    });
    expect(batch.uses).toEqual([expect.objectContaining({ kind: 'api_key', count: 1 })]);
  });

  it('without the scope is 403 with rate headers', async () => {
    const answer = await http().post('/api/v1/things/push').set('x-api-key', apiKey.key).expect(403);
    expect(answer.body).toMatchObject({
      code: 'api_key_scope_required',
      error: 'API key does not have required permissions',
    });
    expect(answer.headers['x-ratelimit-remaining']).toBe('999');
  });

  it('is asked for where a door is for keys only, whatever the token may', async () => {
    await get('/machines').set('x-api-key', apiKey.key).expect(200);
    for (const call of [get('/machines'), get('/machines').set('authorization', bearer())]) {
      expect((await call.expect(401)).body).toMatchObject({ code: 'invalid_api_key' });
    }
    await get('/fields').set('authorization', bearer()).expect(200);
  });

  it('passes where a user needs a factor and the door admits it; the user still needs one', async () => {
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

  it('over its limit is 429 with Retry-After, and the refusal is not counted', async () => {
    const record = keys.get(apiKey.keyHash.toString('hex'));
    if (record) record.rateLimit = 2;
    await announce(credentials, 'credential.changed', keysAll());
    await get('/fields').set('x-api-key', apiKey.key).expect(200);
    await get('/fields').set('x-api-key', apiKey.key).expect(200);
    const answer = await get('/fields').set('x-api-key', apiKey.key).expect(429);
    expect(answer.body).toMatchObject({ code: 'rate_limited' });
    expect(answer.body.retryAfter).toBe(Number(answer.headers['retry-after']));
    expect(answer.headers).toMatchObject({ 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '0' });
  });

  it('that is revoked is dead as soon as the broadcast is heard', async () => {
    await get('/fields').set('x-api-key', apiKey.key).expect(200);
    const record = keys.get(apiKey.keyHash.toString('hex'));
    if (record) record.status = 'revoked';
    await announce(credentials, 'credential.changed', { ...keysAll(), reason: 'revoked' });
    await get('/fields').set('x-api-key', apiKey.key).expect(401);
  });

  it('whose creator changed is looked at again', async () => {
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
  ])('%s is one and the same 401', async (_, make) => {
    const { requestId, ...body } = (await get('/fields').set('x-api-key', make()).expect(401)).body;
    expect(requestId).toBeTruthy();
    expect(body).toEqual({ error: 'Invalid API key', message: 'Invalid API key', code: 'invalid_api_key' });
  });
});

describe('a partner key', () => {
  it('is let in for its partner', async () => {
    const answer = await get('/export').set('x-api-key', partnerKey.key).expect(200);
    expect(answer.body).toMatchObject({
      kind: 'partner_key',
      tenant: { scope: 'partner', partnerId, orgAccess: 'all' },
    });
    expect(answer.headers).toMatchObject({ 'x-ratelimit-limit': '600', 'x-ratelimit-remaining': '599' });
  });

  it('writes on a window of its own', async () => {
    const answer = await http().post('/api/v1/things/export').set('x-api-key', partnerKey.key).expect(403);
    expect(answer.body).toMatchObject({ code: 'partner_api_scope_required', required: ['sites:write'] });
    expect(answer.headers).toMatchObject({ 'x-ratelimit-limit': '120', 'x-ratelimit-remaining': '119' });
  });

  it.each([
    ['no key', undefined, 'partner_api_auth_required'],
    ['an ordinary key', apiKey.key, 'api_key_not_accepted_here'],
    ['an unknown key', mintPartnerKey().key, 'partner_api_invalid_credentials'],
    ['nonsense', 'nonsense', 'partner_api_invalid_credentials'],
  ])('%s is one 401', async (_, presented, code) => {
    const attempt = presented === undefined ? get('/export') : get('/export').set('x-api-key', presented);
    expect((await attempt.expect(401)).body.code).toBe(code);
  });

  it('from an address off its list is dead', async () => {
    const record = keys.get(partnerKey.keyHash.toString('hex'));
    if (record?.kind === 'partner_key') record.sourceCidrs = ['198.51.100.0/24'];
    await announce(credentials, 'credential.changed', keysAll());
    const from = (address: string) => get('/export').set('x-api-key', partnerKey.key).set('x-forwarded-for', address);
    await from('198.51.100.9').expect(200);
    expect((await from('203.0.113.9').expect(401)).body.code).toBe('partner_api_invalid_credentials');
  });
});

describe('guessing keys', () => {
  it('ends for the address, good keys included, and costs others nothing', async () => {
    const from = (address: string, presented: string) =>
      get('/fields').set('x-api-key', presented).set('x-forwarded-for', address);
    for (let i = 0; i < 30; i++) {
      await Promise.all(Array.from({ length: 10 }, () => from('192.0.2.66', 'guess').expect(401)));
    }
    const before = asked.keys;
    const answer = await from('192.0.2.66', 'guess').expect(429);
    expect(answer.body.retryAfter).toBeGreaterThanOrEqual(1);
    await from('192.0.2.66', apiKey.key).expect(429);
    expect(asked.keys).toBe(before);
    await from('192.0.2.67', apiKey.key).expect(200);
    clock.advance(61_000);
    await eventually(() => from('192.0.2.66', apiKey.key).expect(200));
  });
});

describe('the OpenAPI document', () => {
  it('says which credential each operation takes', () => {
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

describe('when a dependency is away', () => {
  it('keys are 503 without Redis, users go on', async () => {
    await fleet.stores.redis.stop();
    const answer = await get('/fields').set('x-api-key', apiKey.key).expect(503);
    expect(answer.body).toMatchObject({ code: 'service_unavailable' });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect((await get('/fields').set('x-api-key', 'guess').expect(503)).body.code).toBe('service_unavailable');
    await get('/me').set('authorization', bearer()).expect(200);
    await fleet.stores.redis.start();
    await eventually(() => get('/fields').set('x-api-key', apiKey.key).expect(200));
    expect(dispatcher.get(RedisConnections).shared.status).toBe('ready');
  });

  it('identity silent for thirty seconds is 503 for users and keys, until it is heard again', async () => {
    await get('/me').set('authorization', bearer()).expect(200);
    await fleet.end(identity);
    await get('/me').set('authorization', bearer()).expect(200);
    clock.advance(31_000);
    expect((await get('/me').set('authorization', bearer()).expect(503)).body.code).toBe('service_unavailable');
    await get('/fields').set('x-api-key', apiKey.key).expect(503);
    await get('/open').expect(200);
    identity = await startIdentity();
    await eventually(() => get('/me').set('authorization', bearer()).expect(200));
  });

  it('what was cached before NATS was gone is not trusted after it', async () => {
    await get('/me').set('authorization', bearer()).expect(200);
    await fleet.nats.stop();
    people.set('11111111-1111-4111-8111-111111111111', snapshot({ partnerId, userStatus: 'disabled' }));
    await fleet.nats.start();
    await eventually(() => get('/me').set('authorization', bearer()).expect(401));
  });
});

describe('a start', () => {
  it('is refused when routes do not say who may enter, naming each', async () => {
    @Controller('closed')
    class ClosedController {
      @Get()
      none() {
        return 'nobody';
      }
      @Get('two')
      @Public()
      @SignedIn()
      two() {
        return 'who knows';
      }
      @Get('agent')
      @AgentToken()
      agent() {
        return 'nobody looks agents up';
      }
    }
    const start = fleet.service('provisioning', { controllers: [ClosedController] });
    await expect(start).rejects.toThrow(
      /ClosedController\.none has no door[^]*ClosedController\.two has 2 doors[^]*no AGENT_SOURCE is provided/,
    );
  });
});
