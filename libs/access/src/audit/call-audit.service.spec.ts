import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  type INestApplication,
  Param,
  Patch,
  Post,
  Req,
} from '@nestjs/common';
import { connect, type NatsConnection } from 'nats';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import request from 'supertest';
import { STREAMS, type AccessSnapshot, type AuditEntry, type Envelope } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { ConflictError, ForbiddenError, type KitRequest } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { AccessTestCluster } from '../../test/access-test-cluster.js';
import { snapshot } from '../../test/callers.js';
import { accessToken, signingKey } from '../../test/tokens.js';
import { ACCESS_SOURCE, VERIFICATION_KEYS } from '../access.tokens.js';
import type { Caller } from '../callers/caller.js';
import { CurrentCaller } from '../callers/current-caller.decorator.js';
import { Public, SignedIn, SkipFallbackAudit } from '../route-access/route-access.decorator.js';

class NotYours extends ForbiddenError {
  override code = 'permission_not_delegable';
}

/** Called by the handler that waits until its client has left. */
let onBegin: () => void = () => undefined;

@Controller('things')
class ThingsController {
  constructor(private readonly audit: AuditTrail) {}

  @Get(':id')
  @SignedIn()
  read() {
    return {};
  }

  @Post()
  @SignedIn()
  silent() {
    return {};
  }

  @Patch(':id')
  @SignedIn()
  change() {
    return {};
  }

  @Delete(':id')
  @SignedIn()
  @HttpCode(204)
  remove() {
    return undefined;
  }

  @Post('spoken')
  @SignedIn()
  async spoken(@CurrentCaller() caller: Caller) {
    await this.audit.recordDirect(caller, 'contact.create', { type: 'thing' });
    return {};
  }

  @Post('preview')
  @SignedIn()
  @SkipFallbackAudit()
  preview() {
    return {};
  }

  @Post('open')
  @Public()
  open() {
    return {};
  }

  @Post('fails')
  @SignedIn()
  fails() {
    throw new ConflictError();
  }

  @Post('refuses')
  @SignedIn()
  refuses(@Body() { code }: { code?: string }) {
    throw code ? new NotYours(undefined, { extras: { required: [code] } }) : new NotYours();
  }

  @Post('abandoned/:outcome')
  @SignedIn()
  async abandoned(@Param('outcome') outcome: string, @Req() { socket }: KitRequest) {
    onBegin();
    await once(socket, 'close');
    if (outcome === 'refused') throw new NotYours();
    return {};
  }

  @Post('refuses-aloud')
  @SignedIn()
  async refusesAloud(@CurrentCaller() caller: Caller) {
    await this.audit.recordDirect(caller, 'contact.update', { type: 'thing' }, {}, 'denied');
    throw new NotYours();
  }
}

describe('CallAuditService', () => {
  const key = signingKey();
  const partnerId = randomUUID();
  const platform: Partial<AccessSnapshot> = { scope: 'system', partnerId: null, partnerStatus: null };
  let user: AccessSnapshot;
  let cluster: AccessTestCluster;
  let service: INestApplication;
  let nats: NatsConnection;

  beforeAll(async () => {
    cluster = await AccessTestCluster.start();
    const { host, username, password } = new URL(cluster.nats.adminUrl);
    nats = await connect({ servers: host, user: username, pass: password });
    service = await cluster.service('identity', {
      controllers: [ThingsController],
      providers: [
        { provide: ACCESS_SOURCE, useValue: { resolve: () => Promise.resolve(user) } },
        { provide: VERIFICATION_KEYS, useValue: { find: () => Promise.resolve(key.publicKey) } },
      ],
    });
  });
  afterAll(async () => {
    await nats.close();
    await cluster.stop();
  });

  let token: string;
  const signIn = (changes: Partial<AccessSnapshot> = {}) => {
    // A new user for each case, so that nothing of it is cached.
    const [userId, sessionId] = [randomUUID(), randomUUID()];
    user = snapshot({ userId, sessionId, partnerId, ...changes });
    const scope = user.scope ?? 'partner';
    token = accessToken(key, Date.now(), { sub: userId, sid: sessionId, partnerId: user.partnerId, scope });
  };
  beforeEach(() => signIn());

  const call = (method: 'get' | 'post' | 'patch' | 'delete', path: string, body = {}) =>
    request(service.getHttpServer() as Server)
      [method](`/api/v1/things${path}`)
      .set('authorization', `Bearer ${token}`)
      .set('x-request-id', 'request-of-the-call')
      .send(body);
  /** Lists the messages that have left the outbox, in order. */
  const rows = async (ofUser = true) => {
    const streams = (await nats.jetstreamManager()).streams;
    const { state } = await streams.info(STREAMS.audit.name);
    const found: Envelope<AuditEntry>[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
      found.push((await streams.getMessage(STREAMS.audit.name, { seq })).json<Envelope<AuditEntry>>());
    }
    return ofUser ? found.filter(({ data }) => data.actor.id === user.userId) : found;
  };
  /** The rows of a call, once another call has left its own: nothing more can come. */
  const rowsOf = async (method: 'get' | 'post' | 'patch' | 'delete', path: string, status: number, body = {}) => {
    await call(method, path, body).expect(status);
    await call('post', '/spoken').expect(201);
    return eventually(async () => {
      const found = (await rows()).map(({ data }) => data);
      expect(found.some(({ action }) => action === 'contact.create')).toBe(true);
      return found.filter(({ action }) => action !== 'contact.create');
    });
  };

  it('writes a row with the route for a mutating request without its own row', async () => {
    await call('patch', '/7d2e').expect(200);
    const [row] = await eventually(async () => {
      const found = await rows();
      expect(found).toHaveLength(1);
      return found;
    });
    expect(row).toMatchObject({
      partnerId,
      data: {
        action: 'request.patch',
        actor: { type: 'user', id: user.userId, email: user.email },
        resourceType: 'route',
        resourceName: 'PATCH /api/v1/things/:id',
        details: { fallback: true, method: 'PATCH', path: '/api/v1/things/:id', status: 200 },
        result: 'success',
        requestId: 'request-of-the-call',
      },
    });
  });

  it.each([
    ['post', '', 201],
    ['delete', '/7d2e', 204],
  ] as const)('does so for %s %s too', async (method, path, status) => {
    await call(method, path).expect(status);
    await eventually(async () => {
      expect((await rows()).map(({ data }) => data.details.status)).toEqual([status]);
    });
  });

  it.each([
    ['reads', 'get', '/7d2e', 200],
    ['calls with a row of their own', 'post', '/spoken', 201],
    ['calls that change nothing', 'post', '/preview', 201],
    ['failures', 'post', '/fails', 409],
  ] as const)('adds none to %s', async (_, method, path, status) => {
    expect(await rowsOf(method, path, status)).toEqual([]);
  });

  it('writes no row without a caller', async () => {
    expect(await rowsOf('post', '/open', 201)).toEqual([]);
    expect((await rows(false)).filter(({ data }) => data.resourceName?.endsWith('/open'))).toEqual([]);
  });

  it('writes no row without a tenant', async () => {
    signIn(platform);
    expect(await rowsOf('patch', '/7d2e', 200)).toEqual([]);
  });

  it('records denials of handlers like those of the guard, with their repeats', async () => {
    for (let i = 0; i < 3; i++) await call('post', '/refuses', { code: 'users:write' }).expect(403);
    const [denied, ...others] = await rowsOf('post', '/refuses', 403);
    expect(others).toEqual([]);
    expect(denied).toMatchObject({
      action: 'access.denied',
      result: 'denied',
      resourceName: 'POST /api/v1/things/refuses',
      details: { reason: 'permission_not_delegable', required: ['users:write'] },
      errorMessage: 'permission_not_delegable',
    });
  });

  it.each([
    ['done', 'request.post', 'success'],
    ['refused', 'access.denied', 'denied'],
  ])('audits a request whose client leaves before it is %s', async (outcome, action, result) => {
    const begun = new Promise<void>((resolve) => (onBegin = resolve));
    const sent = call('post', `/abandoned/${outcome}`);
    sent.end(() => undefined);
    await begun;
    sent.abort();
    await eventually(async () => {
      expect((await rows()).map(({ data }) => [data.action, data.result])).toEqual([[action, result]]);
    });
  });

  it('writes no second row for an audited denial', async () => {
    expect((await rowsOf('post', '/refuses-aloud', 403)).map(({ action }) => action)).toEqual(['contact.update']);
  });
});
