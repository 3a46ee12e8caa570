import { randomUUID } from 'node:crypto';
import type { INestApplication } from '@nestjs/common';
import { eventually } from '@rmm/testing-services';
import request from 'supertest';
import { DispatcherWorld, type Organization } from '../../test/dispatcher.js';
import { Receiver } from '../../test/receiver.js';
import { SignedIn } from '../../test/signed-in.js';
import { MASK } from './webhook-masking.js';
import { WebhookSealing } from './webhook-sealing.js';

const ALL = ['organizations:read', 'organizations:write'];

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(60_000);

describe('/webhooks', () => {
  const signedIn = new SignedIn();
  let world: DispatcherWorld;
  let app: INestApplication;
  let receiver: Receiver;
  let mine: Organization;
  let foreign: Organization;
  let member: string;
  let partner: string;
  let reader: string;
  let stranger: string;
  let nobody: string;
  let system: string;

  beforeAll(async () => {
    world = await DispatcherWorld.open();
    receiver = await Receiver.start();
    app = await world.start({}, [signedIn.module()]);
    [mine, foreign] = await Promise.all([world.organization(), world.organization()]);
    const person = (scope: 'organization' | 'partner', of: Organization, permissions: string[]) =>
      signedIn.as({ scope, partnerId: of.partnerId, orgId: scope === 'organization' ? of.orgId : null, permissions });
    member = person('organization', mine, ALL);
    partner = person('partner', mine, ALL);
    reader = person('organization', mine, ['organizations:read']);
    nobody = person('organization', mine, ['devices:read']);
    stranger = person('partner', foreign, ALL);
    system = signedIn.as({ scope: 'system', partnerId: null, orgId: null, permissions: ['*:*'] });
    await call('get', '', member).expect(200);
  }, 60_000);

  afterAll(async () => {
    await receiver.stop();
    await world.close();
  }, 30_000);

  type Verb = 'get' | 'post' | 'patch' | 'delete';
  const call = (verb: Verb, path: string, as?: string, body?: unknown) => {
    const sent = request(app.getHttpServer())[verb](`/api/v1/webhooks${path}`);
    if (as) void sent.set('Authorization', as);
    return body === undefined ? sent : sent.send(body as object);
  };
  const input = (changes: object = {}) => ({ name: 'Hook', url: receiver.url, events: ['device.*'], ...changes });
  const create = async (changes: object = {}): Promise<string> => {
    const { body } = await call('post', '', member, input(changes)).expect(201);
    return (body as { id: string }).id;
  };
  const audited = (id: string) => eventually(async () => (await world.audited(id)).map(({ data }) => data.action));

  describe('POST', () => {
    it('creates an active webhook, shown masked', async () => {
      const url = `http://user:pass@127.0.0.1:${new URL(receiver.url).port}/hook?token=abc&a=1`;
      const headers = [
        { key: 'X-Environment', value: 'prod' },
        { key: 'Authorization', value: 'Bearer abc' },
      ];
      const { body } = await call('post', '', member, input({ url, headers, secret: 's' })).expect(201);
      expect(body).toEqual({
        id: expect.any(String),
        orgId: mine.orgId,
        name: 'Hook',
        url: `http://127.0.0.1:${new URL(receiver.url).port}/hook?a=1`,
        events: ['device.*'],
        headers: [
          { key: 'X-Environment', value: 'prod' },
          { key: 'Authorization', value: MASK },
        ],
        status: 'active',
        hasSecret: true,
        secretOverlapUntil: null,
        standardWebhooks: false,
        successCount: 0,
        failureCount: 0,
        lastDeliveryAt: null,
        lastSuccessAt: null,
        createdBy: expect.any(String),
        createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
        updatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      });
      const [row] = await world.rows<Record<string, string>>('select * from webhook where id = $1', [body.id]);
      expect(JSON.stringify(row)).not.toMatch(/pass@|token=abc|Bearer abc|prod/);
      expect(await audited(body.id)).toEqual(['webhook.create']);
    });

    it.each([
      ['an event type nobody knows', { events: ['device.*', 'nonsense'] }, 400, 'unsupported_event_type'],
      ['the test event', { events: ['webhook.test'] }, 400, 'unsupported_event_type'],
      ['another scheme', { url: 'ftp://example.com' }, 400, 'invalid_webhook_url'],
      ['no URL at all', { url: 'not a url' }, 400, 'invalid_webhook_url'],
      ['localhost', { url: 'http://localhost/' }, 400, 'invalid_webhook_url'],
      ['the metadata address', { url: 'http://169.254.169.254/latest' }, 400, 'invalid_webhook_url'],
      ['plain http to a public address', { url: 'http://8.8.8.8/' }, 400, 'invalid_webhook_url'],
      ['a URL that is too long', { url: `https://8.8.8.8/${'a'.repeat(2_050)}` }, 400, 'validation_failed'],
      ['an empty name', { name: '' }, 400, 'validation_failed'],
      ['a name that is too long', { name: 'n'.repeat(256) }, 400, 'validation_failed'],
      ['no event', { events: [] }, 400, 'validation_failed'],
      ['a null secret', { secret: null }, 400, 'validation_failed'],
      ['a mask for a secret', { secret: MASK }, 400, 'validation_failed'],
      ['a mask for a token', { url: `https://8.8.8.8/?token=${MASK}` }, 400, 'invalid_webhook_url'],
      ['a mask for a password', { url: `https://u:${MASK}@8.8.8.8/` }, 400, 'invalid_webhook_url'],
      ['a mask for a secret header', { headers: [{ key: 'X-Token', value: MASK }] }, 400, 'validation_failed'],
      ['a header of Standard Webhooks', { headers: [{ key: 'Webhook-Id', value: '1' }] }, 400, 'validation_failed'],
      ['a header that opens metadata', { headers: [{ key: 'Metadata', value: 'true' }] }, 400, 'validation_failed'],
      ['a switch that is text', { standardWebhooks: 'true' }, 400, 'validation_failed'],
      ['an unknown field', { colour: 'red' }, 400, 'validation_failed'],
      ['a reserved header', { headers: [{ key: 'Host', value: 'x' }] }, 400, 'validation_failed'],
      ['a header with a line break', { headers: [{ key: 'X-A', value: 'a\nb' }] }, 400, 'validation_failed'],
      [
        'too many headers',
        { headers: Array.from({ length: 21 }, (_, i) => ({ key: `X-${i}`, value: 'v' })) },
        400,
        'validation_failed',
      ],
    ])('refuses %s', async (_, changes, status, code) => {
      const { body } = await call('post', '', member, input(changes)).expect(status);
      expect(body).toMatchObject({ code, requestId: expect.any(String) });
    });

    it('says what is wrong in the words of the contract', async () => {
      const bad = await call('post', '', member, input({ url: 'http://localhost/' })).expect(400);
      expect(bad.body).toMatchObject({ error: 'Invalid webhook URL', message: expect.stringContaining('localhost') });
      const unknown = await call('post', '', member, input({ events: ['x'] })).expect(400);
      expect(unknown.body.supportedEvents).toEqual(
        expect.arrayContaining(['device.enrolled', '*', 'remote.session.*']),
      );
      const field = await call('post', '', member, input({ colour: 'red' })).expect(400);
      expect(field.body.details.fieldErrors).toEqual({ colour: ['unknown field'] });
    });

    it('wants the organisation from partners and the platform, and checks it', async () => {
      const missing = await call('post', '', partner, input()).expect(400);
      expect(missing.body).toMatchObject({
        code: 'organization_context_required',
        error: 'Organization context required',
      });
      await call('post', '', system, input()).expect(400);
      await call('post', '', partner, input({ orgId: mine.orgId })).expect(201);
      await call('post', '', system, input({ orgId: mine.orgId })).expect(201);
      for (const orgId of [foreign.orgId, randomUUID()]) {
        const denied = await call('post', '', partner, input({ orgId })).expect(403);
        expect(denied.body.code).toBe('organization_access_denied');
      }
      await call('post', '', member, input({ orgId: foreign.orgId })).expect(403);
    });

    it('is closed without token and without permission', async () => {
      await call('post', '', undefined, input()).expect(401);
      const { body } = await call('post', '', reader, input()).expect(403);
      expect(body).toMatchObject({ code: 'permission_denied', required: ['organizations:write'] });
    });
  });

  describe('GET', () => {
    it('lists the webhooks of an organisation, newest first, by status', async () => {
      const org = await world.organization(mine.partnerId);
      const of = (name: string) => ({ ...input({ name }), orgId: org.orgId });
      for (const name of ['a', 'b', 'c']) await call('post', '', partner, of(name)).expect(201);
      const { body } = await call('get', `?orgId=${org.orgId}&limit=2`, partner).expect(200);
      expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['c', 'b']);
      expect(body.pagination).toEqual({ page: 1, limit: 2, total: 3 });
      await call('patch', `/${body.data[0].id}`, partner, { status: 'paused' }).expect(200);
      const paused = await call('get', `?orgId=${org.orgId}&status=paused`, partner).expect(200);
      expect(paused.body.data.map(({ name }: { name: string }) => name)).toEqual(['c']);
      await call('get', `?orgId=${org.orgId}&status=disabled`, partner).expect(400);
    });

    it('wants the organisation from partners, permission and token from all', async () => {
      expect((await call('get', '', partner).expect(400)).body.code).toBe('organization_context_required');
      expect((await call('get', `?orgId=${foreign.orgId}`, partner).expect(403)).body.code).toBe(
        'organization_access_denied',
      );
      await call('get', '', nobody).expect(403);
      await call('get', '').expect(401);
      await call('get', '?limit=101', member).expect(400);
    });

    it('names the event types before it looks for an id', async () => {
      const { body } = await call('get', '/event-types', reader).expect(200);
      expect(body.data).toHaveLength(30);
      expect(body.data[0]).toEqual({ type: 'device.enrolled', group: 'device', description: expect.any(String) });
      expect(body.wildcards).toContain('remote.session.*');
      await call('get', '/event-types', nobody).expect(403);
    });

    it('shows one with its statistics', async () => {
      const id = await create();
      const { body } = await call('get', `/${id}`, reader).expect(200);
      expect(body.deliveryStats).toEqual({
        total: 0,
        pending: 0,
        delivered: 0,
        failed: 0,
        retrying: 0,
        lastDeliveredAt: null,
      });
    });
  });

  it.each([
    ['get', '', undefined],
    ['patch', '', { name: 'x' }],
    ['delete', '', undefined],
    ['get', '/deliveries', undefined],
    ['post', '/test', {}],
    ['post', '/retry/0d0c8f2e-5a4b-4a51-9a55-111111111111', {}],
  ] as const)('%s /:id%s is closed to others', async (verb, path, body) => {
    const id = await create();
    for (const [as, target] of [
      [stranger, id],
      [member, randomUUID()],
      [member, 'not-a-uuid'],
    ] as const) {
      const answer = await call(verb, `/${target}${path}`, as, body).expect(404);
      expect(answer.body).toMatchObject({ code: 'not_found', error: 'Webhook not found' });
    }
    await call(verb, `/${id}${path}`, nobody, body).expect(403);
    await call(verb, `/${id}${path}`, undefined, body).expect(401);
    await call('get', `/${id}`, member).expect(200);
  });

  describe('PATCH', () => {
    it('changes what is named and keeps what comes back masked', async () => {
      const url = `http://u:p@127.0.0.1:${new URL(receiver.url).port}/hook?token=t`;
      const id = await create({
        url,
        secret: 's',
        headers: [
          { key: 'X-Api-Key', value: 'k' },
          { key: 'X-A', value: '1' },
        ],
      });
      const shown = (await call('get', `/${id}`, member).expect(200)).body;
      const { body } = await call('patch', `/${id}`, member, {
        name: 'New',
        url: shown.url,
        secret: MASK,
        headers: [...shown.headers, { key: 'X-B', value: '2' }],
      }).expect(200);
      expect(body).toMatchObject({ name: 'New', url: shown.url, hasSecret: true });
      receiver.received.length = 0;
      await call('post', `/${id}/test`, member, {}).expect(202);
      await eventually(() => expect(receiver.received).toHaveLength(1));
      expect(receiver.received[0]).toMatchObject({
        path: '/hook?token=t',
        headers: {
          authorization: `Basic ${Buffer.from('u:p').toString('base64')}`,
          'x-api-key': 'k',
          'x-a': '1',
          'x-b': '2',
          'x-service-signature': expect.stringMatching(/^sha256=/),
        },
      });
      await call('patch', `/${id}`, member, { secret: null }).expect(200, /"hasSecret":false/);
    });

    it.each([
      ['a patch of nothing', {}, 'validation_failed'],
      ['a null name', { name: null }, 'validation_failed'],
      ['a status of the table', { status: 'error' }, 'validation_failed'],
      ['another organisation', { orgId: randomUUID() }, 'validation_failed'],
      ['a bad URL', { url: 'http://127.0.0.1.nope.local/' }, 'invalid_webhook_url'],
      ['an event type nobody knows', { events: ['x'] }, 'unsupported_event_type'],
      ['a mask that hides nothing', { headers: [{ key: 'X-Token', value: MASK }] }, 'validation_failed'],
      ['a masked secret where there is none', { secret: MASK }, 'validation_failed'],
      ['a null switch', { standardWebhooks: null }, 'validation_failed'],
    ])('refuses %s', async (_, changes, code) => {
      const { body } = await call('patch', `/${await create()}`, member, changes).expect(400);
      expect(body.code).toBe(code);
    });

    it('refuses a masked URL that was edited, and stores no stars', async () => {
      const { port } = new URL(receiver.url);
      const id = await create({ url: `http://127.0.0.1:${port}/hook?token=t&b=1` });
      for (const url of [
        `http://127.0.0.1:${port}/other?token=${MASK}&b=1`,
        `http://127.0.0.1:${port}/hook?token=${encodeURIComponent(MASK)}&b=1`,
        `http://127.0.0.1:${port}/hook?token=${MASK.replaceAll('*', '%2A')}&b=1`,
        `http://user:${MASK}@127.0.0.1:${port}/hook?b=1`,
        MASK,
      ]) {
        const { body } = await call('patch', `/${id}`, member, { url }).expect(400);
        expect(body).toMatchObject({ code: 'invalid_webhook_url', error: 'Invalid webhook URL' });
      }
      receiver.received.length = 0;
      await call('post', `/${id}/test`, member, {}).expect(202);
      await eventually(() => expect(receiver.received.map(({ path }) => path)).toEqual(['/hook?token=t&b=1']));
    });

    it('means the URL of the row when a masked one comes back, also while another change is being made', async () => {
      const { port } = new URL(receiver.url);
      const id = await create({ url: `http://127.0.0.1:${port}/hook?token=t` });
      const shown = (await call('get', `/${id}`, member).expect(200)).body.url as string;
      const other = await world.admin.connect();
      try {
        await other.query('begin');
        const url = app.get(WebhookSealing).sealUrl(id, `http://127.0.0.1:${port}/moved?token=u`);
        await other.query('update webhook set url_sealed = $2 where id = $1', [id, url]);
        const patched = call('patch', `/${id}`, member, { name: 'Renamed', url: shown }).expect(200);
        const ended = patched.then(() => undefined);
        await eventually(async () => {
          const waiting = await world.rows(`select 1 from pg_locks where not granted and locktype = 'transactionid'`);
          expect(waiting).toHaveLength(1);
        });
        await other.query('commit');
        await ended;
      } finally {
        other.release();
      }
      receiver.received.length = 0;
      await call('post', `/${id}/test`, member, {}).expect(202);
      await eventually(() => expect(receiver.received.map(({ path }) => path)).toEqual(['/moved?token=u']));
    });

    it('takes another URL for a new one, without the credentials of the old', async () => {
      const { port } = new URL(receiver.url);
      const id = await create({ url: `http://u:p@127.0.0.1:${port}/hook?token=t` });
      await call('patch', `/${id}`, member, { url: `http://127.0.0.1:${port}/other` }).expect(200);
      receiver.received.length = 0;
      await call('post', `/${id}/test`, member, {}).expect(202);
      await eventually(() => expect(receiver.received.map(({ path }) => path)).toEqual(['/other']));
      expect(receiver.received[0]?.headers).not.toHaveProperty('authorization');
    });

    it('keeps a masked header by its name alone, whatever its case, and moves no value to another name', async () => {
      const id = await create({ headers: [{ key: 'X-Api-Key', value: 'k' }] });
      const kept = await call('patch', `/${id}`, member, { headers: [{ key: 'x-api-key', value: MASK }] }).expect(200);
      expect(kept.body.headers).toEqual([{ key: 'x-api-key', value: MASK }]);
      await call('patch', `/${id}`, member, { headers: [{ key: 'X-Other-Key', value: MASK }] }).expect(400);
      const moved = await call('patch', `/${id}`, member, { headers: [{ key: 'X-Open', value: MASK }] }).expect(200);
      expect(moved.body.headers).toEqual([{ key: 'X-Open', value: MASK }]);
      receiver.received.length = 0;
      await call('post', `/${id}/test`, member, {}).expect(202);
      await eventually(() => expect(receiver.received[0]?.headers).toMatchObject({ 'x-open': MASK }));
    });

    it('is closed to readers', async () => {
      await call('patch', `/${await create()}`, reader, { name: 'x' }).expect(403);
    });
  });

  it('deletes the webhook and its deliveries', async () => {
    const id = await create();
    await call('post', `/${id}/test`, member, {}).expect(202);
    await call('delete', `/${id}`, reader).expect(403);
    const { body } = await call('delete', `/${id}`, member).expect(200);
    expect(body).toEqual({ success: true });
    await eventually(async () => {
      expect(await audited(id)).toEqual(['webhook.create', 'webhook.test', 'webhook.delete']);
    });
    await call('get', `/${id}`, member).expect(404);
    expect(await world.deliveries(id)).toEqual([]);
  });

  describe('POST /:id/test', () => {
    it('sends a test delivery, default or given', async () => {
      const id = await create();
      const { body } = await call('post', `/${id}/test`, member).expect(202);
      expect(body).toEqual({
        message: expect.any(String),
        delivery: { id: expect.any(String), webhookId: id, status: 'pending', event: 'webhook.test', attempt: 0 },
      });
      await eventually(() => expect(receiver.of(body.delivery.id)).toHaveLength(1));
      const sent = JSON.parse(receiver.of(body.delivery.id)[0]?.body ?? '{}');
      expect(sent).toMatchObject({ type: 'webhook.test', orgId: mine.orgId, data: { webhookId: id } });
      const given = await call('post', `/${id}/test`, member, { event: 'device.online', payload: { a: 1 } }).expect(
        202,
      );
      await eventually(() => expect(receiver.of(given.body.delivery.id)).toHaveLength(1));
      expect(JSON.parse(receiver.of(given.body.delivery.id)[0]?.body ?? '{}')).toMatchObject({
        type: 'device.online',
        data: { a: 1 },
      });
      const { body: history } = await call('get', `/${id}/deliveries?event=device.online`, reader).expect(200);
      expect(history).toMatchObject({ pagination: { total: 1 }, data: [{ id: given.body.delivery.id }] });
      await call('get', `/${id}/deliveries?status=sent`, reader).expect(400);
    });

    it('refuses unknown types, wrong payloads, readers and webhooks that are not active', async () => {
      const id = await create();
      expect((await call('post', `/${id}/test`, member, { event: 'x' }).expect(400)).body.code).toBe(
        'unsupported_event_type',
      );
      await call('post', `/${id}/test`, member, { payload: [1] }).expect(400);
      await call('post', `/${id}/test`, reader, {}).expect(403);
      await call('patch', `/${id}`, member, { status: 'failed' }).expect(200);
      expect((await call('post', `/${id}/test`, member, {}).expect(409)).body.code).toBe('webhook_not_active');
    });
  });

  describe('POST /:id/retry/:deliveryId', () => {
    it('is for failed deliveries of that webhook alone', async () => {
      const id = await create();
      const { body } = await call('post', `/${id}/test`, member, {}).expect(202);
      await eventually(async () => expect(await world.deliveries(id)).toMatchObject([{ status: 'delivered' }]));
      const refused = await call('post', `/${id}/retry/${body.delivery.id}`, member).expect(400);
      expect(refused.body).toMatchObject({
        code: 'delivery_not_failed',
        error: 'Only failed deliveries can be retried',
      });
      const unknown = await call('post', `/${id}/retry/${randomUUID()}`, member).expect(404);
      expect(unknown.body.error).toBe('Delivery not found');
      await call('post', `/${await create()}/retry/${body.delivery.id}`, member).expect(404);
      await call('post', `/${id}/retry/${body.delivery.id}`, reader).expect(403);
    });
  });
});
