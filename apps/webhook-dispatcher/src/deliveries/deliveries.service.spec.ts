import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import type { ApiClient } from '../../test/api-client.js';
import { DispatcherTestApp } from '../../test/dispatcher-test-app.js';
import type { DispatcherTestCluster, Organization } from '../../test/dispatcher-test-cluster.js';
import type { Responder, FakeReceiver } from '../../test/fake-receiver.js';

describe('the history of deliveries', () => {
  const partnerId = randomUUID();
  let service: DispatcherTestApp;
  let cluster: DispatcherTestCluster;
  let receiver: FakeReceiver;
  let mine: Organization;
  let partner: ApiClient;

  beforeAll(async () => {
    service = await DispatcherTestApp.start({ GLOBAL_RATE_LIMIT_PER_MINUTE: '100000' });
    ({ cluster, receiver } = service);
    partner = service.partner(partnerId);
  });

  beforeEach(async () => {
    mine = await cluster.organization(partnerId);
    receiver.received.length = 0;
    receiver.respond = (response) => response.end();
  });

  afterAll(() => service.stop());

  const listed = (id: string, query = '') =>
    partner
      .get(`/${id}/deliveries${query}`)
      .expect(200)
      .then(({ body }) => body as { data: Record<string, unknown>[]; pagination: object });

  it('filters by status and event, alone and together', async () => {
    const webhook = await service.webhook(mine, { events: ['*'] }, { maxRetries: 0 });
    receiver.respond = (response, { headers }) =>
      response.writeHead(headers['x-service-event-type'] === 'patch.failed' ? 500 : 200).end();
    for (const type of ['device.online', 'device.online', 'patch.failed']) await cluster.emit(mine, type);
    await eventually(async () => {
      expect((await listed(webhook.id, '?status=delivered')).pagination).toMatchObject({ total: 2 });
      expect((await listed(webhook.id, '?status=failed')).pagination).toMatchObject({ total: 1 });
    });
    expect((await listed(webhook.id, '?event=device.online')).pagination).toMatchObject({ total: 2 });
    expect((await listed(webhook.id, '?event=patch.failed&status=failed')).data).toMatchObject([
      { event: 'patch.failed', status: 'failed', responseStatus: 500 },
    ]);
    for (const none of ['?event=patch.failed&status=delivered', '?event=webhook.test', '?status=retrying']) {
      expect(await listed(webhook.id, none)).toMatchObject({ data: [], pagination: { total: 0 } });
    }
  });

  it.each(['status=sent', 'status=', 'event=device.exploded', 'event=*', 'page=0', 'page=1.5', 'limit=101', 'limit=x'])(
    'refuses %s',
    async (query) => {
      const webhook = await service.webhook(mine);
      const { body } = await partner.get(`/${webhook.id}/deliveries?${query}`).expect(400);
      expect(body.code).toBe('validation_failed');
    },
  );

  it('pages through all of it, each delivery once, newest first, and ends', async () => {
    const webhook = await service.webhook(mine);
    await cluster.rows(
      `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status)
       select gen_random_uuid(), date_trunc('milliseconds', now()) - (n / 2) * interval '1 hour', $1, $2, $3,
              'device.online', 'e', 6, 'failed'
         from generate_series(1, 57) as n`,
      [mine.partnerId, mine.orgId, webhook.id],
    );
    const seen: { id: unknown; createdAt: unknown }[] = [];
    for (let page = 1; page <= 6; page += 1) {
      const { data, pagination } = await listed(webhook.id, `?limit=10&page=${page}`);
      expect(pagination).toEqual({ page, limit: 10, total: 57 });
      seen.push(...(data as never[]));
    }
    expect(new Set(seen.map(({ id }) => id)).size).toBe(57);
    const times = seen.map(({ createdAt }) => String(createdAt));
    expect(times).toEqual([...times].sort().reverse());
    for (const page of [7, 1_000_001, 999_999_999_999_999]) {
      expect(await listed(webhook.id, `?limit=10&page=${page}`)).toEqual({
        data: [],
        pagination: { page, limit: 10, total: 57 },
      });
    }
  });

  it('reads all of it by cursor, each delivery once, whatever arrives meanwhile', async () => {
    const webhook = await service.webhook(mine);
    const insert = (from: number, to: number) =>
      cluster.rows(
        `insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status)
         select gen_random_uuid(), date_trunc('milliseconds', now()) - (n / 3) * interval '1 hour', $1, $2, $3,
                case n % 2 when 0 then 'device.online' else 'patch.failed' end, 'e' || n, 6, 'failed'
           from generate_series($4::int, $5::int) as n`,
        [mine.partnerId, mine.orgId, webhook.id, from, to],
      );
    await insert(1, 57);
    const readAll = async (filters: string) => {
      const seen: Record<string, unknown>[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const { data, pagination } = await listed(webhook.id, `?limit=10${filters}&cursor=${cursor}`);
        expect(Object.keys(pagination)).toEqual(['nextCursor', 'limit']);
        if (cursor === '') await insert(-5, -1);
        seen.push(...data);
        ({ nextCursor: cursor } = pagination as { nextCursor: string | null });
      }
      return seen;
    };
    const all = await readAll('');
    expect(new Set(all.map(({ eventId }) => eventId)).size).toBe(57);
    expect(all).toHaveLength(57);
    const times = all.map(({ createdAt }) => String(createdAt));
    expect(times).toEqual([...times].sort().reverse());
    const filtered = await readAll('&event=device.online&status=failed');
    expect(new Set(filtered.map(({ event }) => event))).toEqual(new Set(['device.online']));
  });

  it('refuses a cursor of another list, filter or tenant, and a changed one', async () => {
    const [webhook, other] = [await service.webhook(mine), await service.webhook(mine)];
    for (let n = 0; n < 2; n++) await partner.post(`/${webhook.id}/test`).expect(202);
    const { pagination } = await listed(webhook.id, '?limit=1&cursor=');
    const { nextCursor } = pagination as { nextCursor: string };
    expect(nextCursor).toEqual(expect.any(String));
    const member = service.member(mine, ['organizations:read']);
    for (const [as, path] of [
      [partner, `/${other.id}/deliveries?cursor=${nextCursor}`],
      [partner, `/${webhook.id}/deliveries?status=failed&cursor=${nextCursor}`],
      [partner, `/dead-letters?cursor=${nextCursor}`],
      [partner, `/${webhook.id}/deliveries?cursor=x${nextCursor}`],
      [partner, `/${webhook.id}/deliveries?cursor=x`],
      [member, `/${webhook.id}/deliveries?cursor=${nextCursor}`],
    ] as const) {
      const { body } = await as.get(path).expect(400);
      expect(body.code).toBe('invalid_cursor');
    }
  });

  it('ends a page at about 1 MB of bodies, says so, and shows the others on smaller pages', async () => {
    const webhook = await service.webhook(mine);
    await cluster.rows(
      `with sent as (
         insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status)
         select gen_random_uuid(), date_trunc('milliseconds', now()) - n * interval '1 second', $1, $2, $3,
                'device.online', 'large-' || n, 6, 'failed'
           from generate_series(1, 20) as n
         returning event_id, created_at)
       insert into event_body (event_id, created_at, partner_id, org_id, body)
       select event_id, created_at, $1, $2, json_build_object('text', repeat('x', 199000)) from sent`,
      [mine.partnerId, mine.orgId, webhook.id],
    );
    const { data, pagination } = await listed(webhook.id, '?limit=100');
    expect(data.map(({ eventId }) => eventId)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `large-${n}`));
    expect(pagination).toEqual({ page: 1, limit: 100, total: 20, truncated: true });
    const whole = await listed(webhook.id, '?limit=5&page=2');
    expect(whole.data.map(({ eventId }) => eventId)).toEqual([6, 7, 8, 9, 10].map((n) => `large-${n}`));
    expect(whole.pagination).toEqual({ page: 2, limit: 5, total: 20 });
    const listedIds: unknown[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await listed(webhook.id, `?limit=100&cursor=${cursor}`);
      listedIds.push(...page.data.map(({ eventId }) => eventId));
      ({ nextCursor: cursor } = page.pagination as { nextCursor: string | null });
    }
    expect(listedIds).toEqual(Array.from({ length: 20 }, (_, i) => `large-${i + 1}`));
  });

  it('counts what became of deliveries as their rows do, whatever happens to them', async () => {
    const webhook = await service.webhook(mine, { events: ['*'] }, { maxRetries: 1, initialDelayMs: 1 });
    // Seeded, so that each run has the same mixture.
    let seed = 17;
    const random = () => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
    receiver.respond = (response) => response.writeHead(random() < 0.5 ? 500 : 200).end();
    const path = `/${webhook.id}`;
    const failed = async () => (await listed(webhook.id, '?status=failed&limit=5')).data.map(({ id }) => String(id));
    const agree = () =>
      eventually(async () => {
        const { body } = await partner.get(path).expect(200);
        const [rows] = await cluster.rows(
          `select count(*)::int as total, count(*) filter (where status = 'pending')::int as pending,
                  count(*) filter (where status = 'delivered')::int as delivered,
                  count(*) filter (where status = 'failed')::int as failed,
                  count(*) filter (where status = 'retrying')::int as retrying
             from delivery where webhook_id = $1`,
          [webhook.id],
        );
        expect(rows).toMatchObject({ pending: 0, retrying: 0 });
        expect(body.deliveryStats).toMatchObject(rows);
        expect(body).toMatchObject({ successCount: rows?.['delivered'], failureCount: rows?.['failed'] });
      });
    for (let round = 0; round < 6; round += 1) {
      await Promise.all(Array.from({ length: 10 }, () => cluster.emit(mine, 'device.online')));
      await Promise.all([partner.post(`${path}/test`, {}), partner.post(`${path}/test`, {})]);
      const ids = await failed();
      await Promise.all([
        ...ids.map((id) => partner.post(`${path}/retry/${id}`)),
        ...ids.slice(0, 2).map((id) => partner.post(`/dead-letters/${id}/retry`)),
        ...ids.slice(2, 4).map((id) => partner.delete(`/dead-letters/${id}`)),
        partner.post(`${path}/recover`, { since: new Date(Date.now() - 3_600_000).toISOString() }),
      ]);
      if (round === 3) {
        await partner.patch(path, { status: 'paused' }).expect(200);
        await partner.patch(path, { status: 'active' }).expect(200);
      }
      await agree();
    }
  }, 180_000);

  describe('the stored body of a response', () => {
    const deliverWithBody = async (body: Buffer | string): Promise<Record<string, unknown>> => {
      const respond: Responder = (response) => response.writeHead(500, { 'content-type': 'text/plain' }).end(body);
      receiver.respond = respond;
      const webhook = await service.webhook(mine, {}, { maxRetries: 0 });
      await cluster.emit(mine);
      return eventually(async () => {
        const { data } = await listed(webhook.id, '?status=failed');
        if (!data[0]) throw new Error('not yet');
        return data[0];
      });
    };

    it.each<[string, Buffer | string, string]>([
      ['a plain one', 'x'.repeat(1_500), 'x'.repeat(1_000)],
      ['an empty one', '', ''],
      ['bytes that are no UTF-8', Buffer.from([0x61, 0xff, 0xc3, 0x28, 0x62]), 'a\ufffd\ufffd(b'],
      ['a lone surrogate', Buffer.from([0x61, 0xed, 0xa0, 0x80, 0x62]), 'a\ufffd\ufffd\ufffdb'],
      ['NULs alone', Buffer.alloc(5_000), ''],
      ['NULs before more', Buffer.concat([Buffer.alloc(3_999), Buffer.from('😀'.repeat(1_001))]), '😀'.repeat(1_000)],
      ['characters of four bytes at the cut', `${'x'.repeat(999)}😀😀`, `${'x'.repeat(999)}😀`],
      ['a cut inside of a character', Buffer.from('😀'.repeat(20_000)).subarray(0, 65_535), '😀'.repeat(1_000)],
      ['more than is read', Buffer.alloc(200_000, 'ü'), 'ü'.repeat(1_000)],
      ['quotes and back-slashes', '{"a":"\\\\"}', '{"a":"\\\\"}'],
    ])('%s is text of at most 1,000 characters', async (_, body, kept) => {
      const delivery = await deliverWithBody(body);
      expect(delivery['responseBody']).toBe(kept);
      expect(delivery['errorMessage']).toBe(`HTTP 500: ${[...kept].slice(0, 500).join('')}`);
    });
  });
});
