import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import type { ApiClient } from '../../test/api-client.js';
import { DispatcherTestApp } from '../../test/dispatcher-test-app.js';
import type { DispatcherTestCluster, Organization } from '../../test/dispatcher-test-cluster.js';
import type { FakeReceiver } from '../../test/fake-receiver.js';
import { MASK } from './webhook-masking.policy.js';
import { WebhookSealingService } from './webhook-sealing.service.js';

describe('/webhooks', () => {
  let service: DispatcherTestApp;
  let cluster: DispatcherTestCluster;
  let receiver: FakeReceiver;
  let mine: Organization;
  let foreign: Organization;
  let member: ApiClient;
  let partner: ApiClient;
  let reader: ApiClient;
  let stranger: ApiClient;
  let unauthorized: ApiClient;
  let system: ApiClient;

  beforeAll(async () => {
    service = await DispatcherTestApp.start();
    ({ cluster, receiver } = service);
    [mine, foreign] = await Promise.all([cluster.organization(), cluster.organization()]);
    member = service.member(mine);
    partner = service.partner(mine.partnerId);
    reader = service.member(mine, ['organizations:read']);
    unauthorized = service.member(mine, ['devices:read']);
    stranger = service.partner(foreign.partnerId);
    system = service.operator();
    await member.get('').expect(200);
  });

  afterAll(() => service.stop());

  const input = (changes?: object) => service.input(changes);
  const create = (changes?: object) => service.create(member, changes);
  const withUserinfo = (userinfo: string) => receiver.base.replace('//', `//${userinfo}@`);

  describe('POST', () => {
    it('lets 10 concurrent calls create as many webhooks as the organization may still have', async () => {
      const own = await cluster.organization();
      await cluster.rows(
        `insert into webhook (partner_id, org_id, name, url_sealed, events, status)
         select $1, $2, 'Hook', 'sealed', '{device.*}', 'disabled' from generate_series(1, 97)`,
        [own.partnerId, own.orgId],
      );
      const client = service.member(own);
      const responses = await Promise.all(Array.from({ length: 10 }, () => client.post('', input())));
      expect(responses.filter(({ status }) => status === 201)).toHaveLength(3);
      const refused = responses.filter(({ status }) => status !== 201);
      expect(new Set(refused.map(({ status, body }) => `${status} ${body.code}`))).toEqual(
        new Set(['409 webhook_limit_reached']),
      );
    });

    it('creates an active webhook and masks its secrets', async () => {
      const url = `${withUserinfo('user:pass')}/hook?token=abc&a=1`;
      const headers = [
        { key: 'X-Environment', value: 'prod' },
        { key: 'Authorization', value: 'Bearer abc' },
      ];
      const { body } = await member.post('', input({ url, headers, secret: 's' })).expect(201);
      expect(body).toEqual({
        id: expect.any(String),
        orgId: mine.orgId,
        name: 'Hook',
        description: null,
        url: `${receiver.base}/hook?a=1`,
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
      const [row] = await cluster.rows<Record<string, string>>('select * from webhook where id = $1', [body.id]);
      expect(JSON.stringify(row)).not.toMatch(/pass@|token=abc|Bearer abc|prod/);
      await cluster.waitForAuditActions(body.id, ['webhook.create']);
    });

    it.each([
      ['an unknown event type', { events: ['device.*', 'nonsense'] }, 400, 'unsupported_event_type'],
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
      ['an unknown field', { color: 'red' }, 400, 'validation_failed'],
      ['a reserved header', { headers: [{ key: 'Host', value: 'x' }] }, 400, 'validation_failed'],
      ['a header with a line break', { headers: [{ key: 'X-A', value: 'a\nb' }] }, 400, 'validation_failed'],
      [
        'too many headers',
        { headers: Array.from({ length: 21 }, (_, i) => ({ key: `X-${i}`, value: 'v' })) },
        400,
        'validation_failed',
      ],
    ])('refuses %s', async (_, changes, status, code) => {
      const { body } = await member.post('', input(changes)).expect(status);
      expect(body).toMatchObject({ code, requestId: expect.any(String) });
    });

    it('returns the documented error texts', async () => {
      const bad = await member.post('', input({ url: 'http://printer.localhost/' })).expect(400);
      expect(bad.body).toMatchObject({ error: 'Invalid webhook URL', message: expect.stringContaining('localhost') });
      const unknown = await member.post('', input({ events: ['x'] })).expect(400);
      expect(unknown.body.supportedEvents).toEqual(
        expect.arrayContaining(['device.enrolled', '*', 'remote.session.*']),
      );
      const field = await member.post('', input({ color: 'red' })).expect(400);
      expect(field.body.details.fieldErrors).toEqual({ color: ['unknown field'] });
    });

    it('requires the organization from partners and the platform and checks it', async () => {
      const missing = await partner.post('', input()).expect(400);
      expect(missing.body).toMatchObject({
        code: 'organization_context_required',
        error: 'Organization context required',
      });
      await system.post('', input()).expect(400);
      await partner.post('', input({ orgId: mine.orgId })).expect(201);
      await system.post('', input({ orgId: mine.orgId })).expect(201);
      for (const orgId of [foreign.orgId, randomUUID()]) {
        const denied = await partner.post('', input({ orgId })).expect(403);
        expect(denied.body.code).toBe('organization_access_denied');
      }
      await member.post('', input({ orgId: foreign.orgId })).expect(403);
    });

    it('returns 401 without a token and 403 without the permission', async () => {
      await service.anonymous.post('', input()).expect(401);
      const { body } = await reader.post('', input()).expect(403);
      expect(body).toMatchObject({ code: 'permission_denied', required: ['organizations:write'] });
    });
  });

  describe('GET', () => {
    it('lists the webhooks of an organization, newest first, by status', async () => {
      const org = await cluster.organization(mine.partnerId);
      const inputOf = (name: string) => ({ ...input({ name }), orgId: org.orgId });
      for (const name of ['a', 'b', 'c']) await partner.post('', inputOf(name)).expect(201);
      const { body } = await partner.get(`?orgId=${org.orgId}&limit=2`).expect(200);
      expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['c', 'b']);
      expect(body.pagination).toEqual({ page: 1, limit: 2, total: 3 });
      await partner.patch(`/${body.data[0].id}`, { status: 'paused' }).expect(200);
      const paused = await partner.get(`?orgId=${org.orgId}&status=paused`).expect(200);
      expect(paused.body.data.map(({ name }: { name: string }) => name)).toEqual(['c']);
      await partner.get(`?orgId=${org.orgId}&status=disabled`).expect(400);
    });

    it('cuts a page of webhooks with the largest headers at about 1 MB', async () => {
      const { orgId } = await cluster.organization(mine.partnerId);
      const headers = Array.from({ length: 20 }, (_, n) => ({ key: `X-Large-${n}`, value: 'v'.repeat(4_096) }));
      for (let n = 0; n < 15; n += 1) await partner.post('', { ...input({ headers }), orgId }).expect(201);
      const { body } = await partner.get(`?orgId=${orgId}&limit=100`).expect(200);
      expect(body.pagination).toEqual({ page: 1, limit: 100, total: 15, truncated: true });
      expect(body.data.length).toBeGreaterThan(5);
      expect(JSON.stringify(body).length).toBeLessThan(1_100_000);
    });

    it('requires the organization from partners, and permission and token from all', async () => {
      expect((await partner.get('').expect(400)).body.code).toBe('organization_context_required');
      expect((await partner.get(`?orgId=${foreign.orgId}`).expect(403)).body.code).toBe('organization_access_denied');
      await unauthorized.get('').expect(403);
      await service.anonymous.get('').expect(401);
      await member.get('?limit=101').expect(400);
    });

    it('lists the event types at a path that is not read as an id', async () => {
      const { body } = await reader.get('/event-types').expect(200);
      expect(body.data).toHaveLength(41);
      expect(body.data[0]).toEqual({ type: 'device.enrolled', group: 'device', description: expect.any(String) });
      expect(body.wildcards).toContain('remote.session.*');
      await unauthorized.get('/event-types').expect(403);
    });

    it('returns a webhook with its statistics', async () => {
      const id = await create();
      const { body } = await reader.get(`/${id}`).expect(200);
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
      const response = await as[verb](`/${target}${path}`, body).expect(404);
      expect(response.body).toMatchObject({ code: 'not_found', error: 'Webhook not found' });
    }
    await unauthorized[verb](`/${id}${path}`, body).expect(403);
    await service.anonymous[verb](`/${id}${path}`, body).expect(401);
    await member.get(`/${id}`).expect(200);
  });

  describe('PATCH', () => {
    it('changes the given fields and keeps masked values', async () => {
      const url = `${withUserinfo('u:p')}/hook?token=t`;
      const id = await create({
        url,
        secret: 's',
        headers: [
          { key: 'X-Api-Key', value: 'k' },
          { key: 'X-A', value: '1' },
        ],
      });
      const shown = (await member.get(`/${id}`).expect(200)).body;
      const { body } = await member
        .patch(`/${id}`, {
          name: 'New',
          url: shown.url,
          secret: MASK,
          headers: [...shown.headers, { key: 'X-B', value: '2' }],
        })
        .expect(200);
      expect(body).toMatchObject({ name: 'New', url: shown.url, hasSecret: true });
      receiver.received.length = 0;
      await member.post(`/${id}/test`, {}).expect(202);
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
      await member.patch(`/${id}`, { secret: null }).expect(200, /"hasSecret":false/);
    });

    it.each([
      ['a patch of nothing', {}, 'validation_failed'],
      ['a null name', { name: null }, 'validation_failed'],
      ['a status of the table', { status: 'error' }, 'validation_failed'],
      ['another organization', { orgId: randomUUID() }, 'validation_failed'],
      ['a bad URL', { url: 'http://127.0.0.1.nope.local/' }, 'invalid_webhook_url'],
      ['an unknown event type', { events: ['x'] }, 'unsupported_event_type'],
      ['a mask that hides nothing', { headers: [{ key: 'X-Token', value: MASK }] }, 'validation_failed'],
      ['a masked secret where there is none', { secret: MASK }, 'validation_failed'],
      ['a null switch', { standardWebhooks: null }, 'validation_failed'],
    ])('refuses %s', async (_, changes, code) => {
      const { body } = await member.patch(`/${await create()}`, changes).expect(400);
      expect(body.code).toBe(code);
    });

    it('refuses an edited masked URL and stores no mask', async () => {
      const id = await create({ url: `${receiver.base}/hook?token=t&b=1` });
      for (const url of [
        `${receiver.base}/other?token=${MASK}&b=1`,
        `${receiver.base}/hook?token=${encodeURIComponent(MASK)}&b=1`,
        `${receiver.base}/hook?token=${MASK.replaceAll('*', '%2A')}&b=1`,
        `${withUserinfo(`user:${MASK}`)}/hook?b=1`,
        MASK,
      ]) {
        const { body } = await member.patch(`/${id}`, { url }).expect(400);
        expect(body).toMatchObject({ code: 'invalid_webhook_url', error: 'Invalid webhook URL' });
      }
      receiver.received.length = 0;
      await member.post(`/${id}/test`, {}).expect(202);
      await eventually(() => expect(receiver.received.map(({ path }) => path)).toEqual(['/hook?token=t&b=1']));
    });

    it('keeps the stored URL when a masked one is sent, also during another change', async () => {
      const id = await create({ url: `${receiver.base}/hook?token=t` });
      const shown = (await member.get(`/${id}`).expect(200)).body.url as string;
      const other = await cluster.admin.connect();
      try {
        await other.query('begin');
        const url = service.app.get(WebhookSealingService).sealUrl(id, `${receiver.base}/moved?token=u`);
        await other.query('update webhook set url_sealed = $2 where id = $1', [id, url]);
        const patched = member.patch(`/${id}`, { name: 'Renamed', url: shown }).expect(200);
        const ended = patched.then(() => undefined);
        await eventually(async () => {
          const waiting = await cluster.rows(`select 1 from pg_locks where not granted and locktype = 'transactionid'`);
          expect(waiting).toHaveLength(1);
        });
        await other.query('commit');
        await ended;
      } finally {
        other.release();
      }
      receiver.received.length = 0;
      await member.post(`/${id}/test`, {}).expect(202);
      await eventually(() => expect(receiver.received.map(({ path }) => path)).toEqual(['/moved?token=u']));
    });

    it('stores another URL without the credentials of the old one', async () => {
      const id = await create({ url: `${withUserinfo('u:p')}/hook?token=t` });
      await member.patch(`/${id}`, { url: `${receiver.base}/other` }).expect(200);
      receiver.received.length = 0;
      await member.post(`/${id}/test`, {}).expect(202);
      await eventually(() => expect(receiver.received.map(({ path }) => path)).toEqual(['/other']));
      expect(receiver.received[0]?.headers).not.toHaveProperty('authorization');
    });

    it('keeps a masked header by its name in any case and moves no value to another name', async () => {
      const id = await create({ headers: [{ key: 'X-Api-Key', value: 'k' }] });
      const kept = await member.patch(`/${id}`, { headers: [{ key: 'x-api-key', value: MASK }] }).expect(200);
      expect(kept.body.headers).toEqual([{ key: 'x-api-key', value: MASK }]);
      await member.patch(`/${id}`, { headers: [{ key: 'X-Other-Key', value: MASK }] }).expect(400);
      const moved = await member.patch(`/${id}`, { headers: [{ key: 'X-Open', value: MASK }] }).expect(200);
      expect(moved.body.headers).toEqual([{ key: 'X-Open', value: MASK }]);
      receiver.received.length = 0;
      await member.post(`/${id}/test`, {}).expect(202);
      await eventually(() => expect(receiver.received[0]?.headers).toMatchObject({ 'x-open': MASK }));
    });

    it('changes and removes the description', async () => {
      const id = await service.create(partner, { orgId: mine.orgId, description: 'Creates tickets' });
      expect((await partner.get(`/${id}`)).body).toMatchObject({ description: 'Creates tickets' });
      const { body } = await partner.patch(`/${id}`, { description: 'Closes tickets' }).expect(200);
      expect(body.description).toBe('Closes tickets');
      expect((await partner.patch(`/${id}`, { name: 'Hook' }).expect(200)).body.description).toBe('Closes tickets');
      expect((await partner.patch(`/${id}`, { description: null }).expect(200)).body.description).toBeNull();
      await partner.patch(`/${id}`, { description: 'x'.repeat(1_001) }).expect(400);
    });

    it('refuses readers', async () => {
      await reader.patch(`/${await create()}`, { name: 'x' }).expect(403);
    });
  });

  it('deletes the webhook and its deliveries', async () => {
    const id = await create();
    await member.post(`/${id}/test`, {}).expect(202);
    await reader.delete(`/${id}`).expect(403);
    const { body } = await member.delete(`/${id}`).expect(200);
    expect(body).toEqual({ success: true });
    await cluster.waitForAuditActions(id, ['webhook.create', 'webhook.test', 'webhook.delete']);
    await member.get(`/${id}`).expect(404);
    expect(await cluster.deliveries(id)).toEqual([]);
  });

  describe('POST /:id/test', () => {
    it('sends a test delivery with the default or a given payload', async () => {
      const id = await create();
      const { body } = await member.post(`/${id}/test`).expect(202);
      expect(body).toEqual({
        message: expect.any(String),
        delivery: { id: expect.any(String), webhookId: id, status: 'pending', event: 'webhook.test', attempt: 0 },
      });
      await eventually(() => expect(receiver.requestsOf(body.delivery.id)).toHaveLength(1));
      const sent = JSON.parse(receiver.requestsOf(body.delivery.id)[0]?.body ?? '{}');
      expect(sent).toMatchObject({ type: 'webhook.test', orgId: mine.orgId, data: { webhookId: id } });
      const given = await member.post(`/${id}/test`, { event: 'device.online', payload: { a: 1 } }).expect(202);
      await eventually(() => expect(receiver.requestsOf(given.body.delivery.id)).toHaveLength(1));
      expect(JSON.parse(receiver.requestsOf(given.body.delivery.id)[0]?.body ?? '{}')).toMatchObject({
        type: 'device.online',
        data: { a: 1 },
      });
      const { body: history } = await reader.get(`/${id}/deliveries?event=device.online`).expect(200);
      expect(history).toMatchObject({ pagination: { total: 1 }, data: [{ id: given.body.delivery.id }] });
      await reader.get(`/${id}/deliveries?status=sent`).expect(400);
    });

    it('refuses unknown types, wrong payloads, readers and webhooks that are not active', async () => {
      const id = await create();
      expect((await member.post(`/${id}/test`, { event: 'x' }).expect(400)).body.code).toBe('unsupported_event_type');
      await member.post(`/${id}/test`, { payload: [1] }).expect(400);
      await reader.post(`/${id}/test`, {}).expect(403);
      await member.patch(`/${id}`, { status: 'failed' }).expect(200);
      expect((await member.post(`/${id}/test`, {}).expect(409)).body.code).toBe('webhook_not_active');
    });
  });

  describe('POST /:id/retry/:deliveryId', () => {
    it('retries only failed deliveries of the webhook', async () => {
      const id = await create();
      const { body } = await member.post(`/${id}/test`, {}).expect(202);
      await eventually(async () => expect(await cluster.deliveries(id)).toMatchObject([{ status: 'delivered' }]));
      const refused = await member.post(`/${id}/retry/${body.delivery.id}`).expect(400);
      expect(refused.body).toMatchObject({
        code: 'delivery_not_failed',
        error: 'Only failed deliveries can be retried',
      });
      const unknown = await member.post(`/${id}/retry/${randomUUID()}`).expect(404);
      expect(unknown.body.error).toBe('Delivery not found');
      await member.post(`/${await create()}/retry/${body.delivery.id}`).expect(404);
      await reader.post(`/${id}/retry/${body.delivery.id}`).expect(403);
    });
  });
});
