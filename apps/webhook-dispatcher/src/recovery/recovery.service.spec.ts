import { randomUUID } from 'node:crypto';
import { RateLimits } from '@rmm/rate-limits';
import { eventually } from '@rmm/testing-services';
import type { ApiClient } from '../../test/api-client.js';
import { DispatcherTestApp } from '../../test/dispatcher-test-app.js';
import type { DispatcherTestCluster, Organization } from '../../test/dispatcher-test-cluster.js';
import type { FakeReceiver } from '../../test/fake-receiver.js';

const HOUR_AGO = () => new Date(Date.now() - 3_600_000).toISOString();

describe('POST /webhooks/:id/recover', () => {
  const partnerId = randomUUID();
  let service: DispatcherTestApp;
  let cluster: DispatcherTestCluster;
  let receiver: FakeReceiver;
  let mine: Organization;
  let partner: ApiClient;
  let reader: ApiClient;
  let stranger: ApiClient;

  beforeAll(async () => {
    // One after the other, so that the receiver sees the order.
    service = await DispatcherTestApp.start({ WEBHOOK_ORIGIN_CONCURRENCY: '1' });
    ({ cluster, receiver } = service);
    partner = service.partner(partnerId);
    reader = service.partner(partnerId, ['organizations:read']);
    stranger = service.partner(randomUUID());
  });

  beforeEach(async () => {
    mine = await cluster.organization(partnerId);
    receiver.received.length = 0;
    receiver.respond = (response) => response.end();
  });

  afterAll(() => service.stop());

  const recover = (id: string, body: object = { since: HOUR_AGO() }) => partner.post(`/${id}/recover`, body);
  const accepted = async (id: string, body?: object): Promise<number> =>
    ((await recover(id, body).expect(202)).body as { accepted: number }).accepted;

  /** Inserts deliveries as they are stored after an outage; `repeats` is the event of an earlier one. */
  async function history(
    webhookId: string,
    rows: {
      event: string;
      status: string;
      minutesAgo: number;
      repeats?: boolean;
      dead?: boolean;
      bodiless?: boolean;
    }[],
  ): Promise<string[]> {
    const ids: string[] = [];
    for (const { event, status, minutesAgo, repeats = false, dead = false, bodiless = false } of rows) {
      const id = randomUUID();
      ids.push(id);
      await cluster.rows(
        `with at as (select date_trunc('milliseconds', now()) - make_interval(mins => $7) as at), inserted as (
           insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts,
                                 status, attempt, due_at, repeat_of)
           select $1::uuid, at, $2::uuid, $3::uuid, $4::uuid, 'device.online', $5, 6, $6, 1,
                  case when $6 in ('pending', 'retrying') then now() + interval '1 day' else at end,
                  case when $8 then gen_random_uuid() end from at
         ), body as (
           insert into event_body (event_id, created_at, partner_id, org_id, body)
           select $5, at, $2::uuid, $3::uuid, $9 from at where not $10
         ), counted as (
           update webhook_counter set total = total + 1, failed = failed + ($6 = 'failed')::int,
                  delivered = delivered + ($6 = 'delivered')::int, retrying = retrying + ($6 = 'retrying')::int
            where webhook_id = $4::uuid
         )
         insert into dead_letter (delivery_id, failed_at, created_at, partner_id, org_id, webhook_id, event_type,
                                  event_id, attempts)
         select $1::uuid, at, at, $2::uuid, $3::uuid, $4::uuid, 'device.online', $5, 6 from at where $11`,
        [
          id,
          mine.partnerId,
          mine.orgId,
          webhookId,
          event,
          status,
          minutesAgo,
          repeats,
          JSON.stringify({ id: event }),
          bodiless,
          dead,
        ],
      );
    }
    return ids;
  }
  const sentEvents = () => receiver.received.map(({ headers }) => String(headers['x-service-event-id']));
  const settled = (webhookId: string) =>
    eventually(async () => {
      const rows = await cluster.rows<{ status: string; due: boolean }>(
        'select status, due_at < now() as due from delivery where webhook_id = $1',
        [webhookId],
      );
      const open = rows.filter(({ status, due }) => status === 'pending' || (status === 'retrying' && due));
      expect(open).toEqual([]);
    });

  it('sends the events of failed deliveries again, oldest first, and keeps the old deliveries', async () => {
    const webhook = await service.webhook(mine, { secret: 's' });
    const old = await history(webhook.id, [
      { event: 'third', status: 'failed', minutesAgo: 10 },
      { event: 'first', status: 'failed', minutesAgo: 30, dead: true },
      { event: 'fine', status: 'delivered', minutesAgo: 25 },
      { event: 'second', status: 'failed', minutesAgo: 20 },
      { event: 'too old', status: 'failed', minutesAgo: 90 },
    ]);
    expect(await accepted(webhook.id)).toBe(3);
    await eventually(() => expect(sentEvents()).toEqual(['first', 'second', 'third']));
    await settled(webhook.id);
    expect(receiver.received[0]?.body).toBe('{"id":"first"}');
    const rows = await cluster.rows<{ id: string; status: string; event_id: string }>(
      'select id, status, event_id from delivery where webhook_id = $1',
      [webhook.id],
    );
    const isOld = ({ id }: { id: string }) => old.includes(id);
    expect(rows.filter(isOld).filter(({ status }) => status === 'failed')).toHaveLength(4);
    expect(
      rows
        .filter((row) => !isOld(row))
        .map(({ event_id, status }) => [event_id, status])
        .sort(),
    ).toEqual([
      ['first', 'delivered'],
      ['second', 'delivered'],
      ['third', 'delivered'],
    ]);
    expect(await cluster.rows('select 1 from dead_letter where webhook_id = $1', [webhook.id])).toEqual([]);
    const [audited] = await eventually(async () => {
      const found = (await cluster.findAuditEntries(webhook.id)).filter(
        ({ data }) => data.action === 'webhook.recover',
      );
      expect(found).toHaveLength(1);
      return found;
    });
    expect(audited?.data.details).toEqual({ since: expect.any(String), until: null, status: 'failed' });
  });

  it('sends an event once and skips what was delivered since, is under way, or has no body', async () => {
    const webhook = await service.webhook(mine);
    await history(webhook.id, [
      { event: 'twice failed', status: 'failed', minutesAgo: 30 },
      { event: 'twice failed', status: 'failed', minutesAgo: 20, repeats: true },
      { event: 'delivered since', status: 'failed', minutesAgo: 30 },
      { event: 'delivered since', status: 'delivered', minutesAgo: 20, repeats: true },
      { event: 'under way', status: 'failed', minutesAgo: 30 },
      { event: 'under way', status: 'pending', minutesAgo: 20, repeats: true },
      { event: 'waiting', status: 'failed', minutesAgo: 30 },
      { event: 'waiting', status: 'retrying', minutesAgo: 20, repeats: true },
      { event: 'gone', status: 'failed', minutesAgo: 30, bodiless: true },
    ]);
    expect(await accepted(webhook.id)).toBe(1);
    await eventually(() => expect(sentEvents()).toEqual(['twice failed']));
    const other = await service.webhook(mine);
    await history(other.id, [{ event: 'twice failed', status: 'failed', minutesAgo: 5 }]);
    expect(await accepted(other.id)).toBe(1);
    expect(await accepted(webhook.id)).toBe(0);
    await eventually(() => expect(sentEvents()).toEqual(['twice failed', 'twice failed']));
    await settled(other.id); // the next case counts what arrives
  });

  it('recovers deliveries from `since` on and before `until`', async () => {
    const webhook = await service.webhook(mine);
    const [, from] = await history(webhook.id, [
      { event: 'before', status: 'failed', minutesAgo: 30 },
      { event: 'from', status: 'failed', minutesAgo: 20 },
      { event: 'until', status: 'failed', minutesAgo: 10 },
    ]);
    const [row] = await cluster.rows<{ since: Date; until: Date }>(
      `select created_at as since, created_at + interval '10 minutes' as until from delivery where id = $1`,
      [from],
    );
    expect(await accepted(webhook.id, { since: row?.since.toISOString(), until: row?.until.toISOString() })).toBe(1);
    await eventually(() => expect(sentEvents()).toEqual(['from']));
  });

  it('sends nothing twice when requests are concurrent or repeated after an error', async () => {
    const webhook = await service.webhook(mine);
    const events = Array.from({ length: 30 }, (_, i) => ({ event: `e${i}`, status: 'failed', minutesAgo: 40 - i }));
    await history(webhook.id, events);
    // As a call leaves it that died after its first chunk.
    const half = await cluster.rows<{ at: Date }>(
      'select created_at as at from delivery where webhook_id = $1 order by created_at offset 15 limit 1',
      [webhook.id],
    );
    expect(await accepted(webhook.id, { since: HOUR_AGO(), until: half[0]?.at.toISOString() })).toBe(15);
    const counts = await Promise.all([1, 2, 3].map(() => accepted(webhook.id)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(15);
    await settled(webhook.id);
    expect(sentEvents().sort()).toEqual(events.map(({ event }) => event).sort());
  });

  it('recovers a delivery that failed again', async () => {
    const webhook = await service.webhook(mine, {}, { maxRetries: 0 });
    await history(webhook.id, [{ event: 'e', status: 'failed', minutesAgo: 5 }]);
    receiver.respond = (response) => response.writeHead(500).end();
    const span = { since: HOUR_AGO(), until: new Date().toISOString() };
    expect(await accepted(webhook.id, span)).toBe(1);
    await eventually(async () => {
      const rows = await cluster.deliveries(webhook.id);
      expect(rows.map(({ status }) => status)).toEqual(['failed', 'failed']);
    });
    receiver.respond = (response) => response.end();
    expect(await accepted(webhook.id, span)).toBe(1);
    await eventually(() => expect(receiver.received).toHaveLength(2));
  });

  it('accepts 10,000 per request and continues with the next request', async () => {
    const webhook = await service.webhook(mine);
    await cluster.rows(
      `with inserted as (
         insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status)
         select gen_random_uuid(), date_trunc('milliseconds', now()) - n * interval '100 ms', $1, $2, $3, 'device.online',
                'e' || n, 6, 'failed'
           from generate_series(1, 10500) as n
         returning event_id, created_at
       ), counted as (
         update webhook_counter set total = total + 10500, failed = failed + 10500 where webhook_id = $3
       )
       insert into event_body (event_id, created_at, partner_id, org_id, body)
       select event_id, created_at, $1, $2, '{}' from inserted`,
      [mine.partnerId, mine.orgId, webhook.id],
    );
    // A call also ends when it has taken too long, which a busy machine may bring about.
    const counts: number[] = [];
    const sixAnHour = { name: 'webhook-recover', limit: 6, windowSeconds: 3_600, onRedisDown: 'allow' } as const;
    do {
      await service.app.get(RateLimits).reset(sixAnHour, webhook.id);
      counts.push(await accepted(webhook.id));
    } while (counts.at(-1) !== 0 && counts.length < 20);
    expect(counts.length).toBeGreaterThan(2);
    expect(Math.max(...counts)).toBeLessThanOrEqual(10_000);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(10_500);
    await eventually(
      async () => {
        const { body } = await partner.get(`/${webhook.id}`).expect(200);
        expect(body.deliveryStats).toMatchObject({ total: 21_000, failed: 10_500 });
      },
      { timeoutMs: 60_000, everyMs: 500 }, // requests are limited, and a busy machine takes a while
    );
    await partner.delete(`/${webhook.id}`).expect(200);
  }, 180_000);

  it('starts the next attempt of waiting retries at once', async () => {
    const webhook = await service.webhook(mine);
    const [waiting] = await history(webhook.id, [
      { event: 'waits', status: 'retrying', minutesAgo: 5 },
      { event: 'failed', status: 'failed', minutesAgo: 5 },
    ]);
    expect(await accepted(webhook.id, { since: HOUR_AGO(), status: 'retrying' })).toBe(1);
    await eventually(() => expect(receiver.requestsOf(waiting ?? '')).toHaveLength(1));
    await eventually(async () => {
      const rows = await cluster.deliveries(webhook.id);
      expect(rows.map(({ status }) => status).sort()).toEqual(['delivered', 'failed']);
    });
    expect(await accepted(webhook.id, { since: HOUR_AGO(), status: 'retrying' })).toBe(0);
  });

  it('returns 202 for recover, test and retry while Redis is unavailable, and the sweeper sends them', async () => {
    const webhook = await service.webhook(mine);
    const [, old] = await history(webhook.id, [
      { event: 'recovered', status: 'failed', minutesAgo: 30 },
      { event: 'retried', status: 'failed', minutesAgo: 90 },
    ]);
    await cluster.stores.redis.stop();
    try {
      const tested = await partner.post(`/${webhook.id}/test`, {}).expect(202);
      expect(tested.body.delivery.status).toBe('pending');
      const retried = await partner.post(`/${webhook.id}/retry/${old}`).expect(202);
      expect(retried.body.delivery.status).toBe('pending');
      expect(await accepted(webhook.id)).toBe(1);
      await eventually(() => expect(receiver.received).toHaveLength(3));
      expect(sentEvents()).toEqual(expect.arrayContaining(['recovered', 'retried']));
    } finally {
      await cluster.stores.redis.start();
      // The limits of later cases allow every request until their connection is back.
      const once = { name: 'once', limit: 1, windowSeconds: 60, onRedisDown: 'allow' } as const;
      await eventually(() => expect(service.app.get(RateLimits).hit(once, 'any')).rejects.toThrow(), {
        timeoutMs: 20_000,
      });
    }
  });

  it.each([
    ['no since', {}],
    ['a since without an offset', { since: '2026-11-21T10:00:00' }],
    ['an until before since', { since: '2026-11-21T10:00:00Z', until: '2026-11-21T10:00:00Z' }],
    ['another status', { since: '2026-11-21T10:00:00Z', status: 'delivered' }],
    ['a null until', { since: '2026-11-21T10:00:00Z', until: null }],
    ['an unknown field', { since: '2026-11-21T10:00:00Z', all: true }],
  ])('refuses %s', async (_, body) => {
    const webhook = await service.webhook(mine);
    expect((await recover(webhook.id, body).expect(400)).body.code).toBe('validation_failed');
  });

  it('refuses other tenants and readers, and returns 409 while the webhook is not active', async () => {
    const webhook = await service.webhook(mine);
    const body = { since: HOUR_AGO() };
    for (const [as, id] of [
      [stranger, webhook.id],
      [partner, randomUUID()],
      [partner, 'nonsense'],
    ] as const) {
      const response = await as.post(`/${id}/recover`, body).expect(404);
      expect(response.body).toMatchObject({ code: 'not_found', error: 'Webhook not found' });
    }
    await reader.post(`/${webhook.id}/recover`, body).expect(403);
    await service.anonymous.post(`/${webhook.id}/recover`, body).expect(401);
    await partner.patch(`/${webhook.id}`, { status: 'paused' }).expect(200);
    expect((await recover(webhook.id).expect(409)).body.code).toBe('webhook_not_active');
  });

  it('allows 6 recoveries per hour and 30 tests per minute for each webhook', async () => {
    const webhook = await service.webhook(mine);
    const other = await service.webhook(mine);
    for (let i = 0; i < 6; i += 1) await recover(webhook.id).expect(202);
    const refused = await recover(webhook.id).expect(429);
    expect(refused.body.code).toBe('rate_limited');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_000);
    await recover(other.id).expect(202);
    for (let i = 0; i < 30; i += 1) await partner.post(`/${webhook.id}/test`, {}).expect(202);
    await partner.post(`/${webhook.id}/test`, {}).expect(429);
    await partner.post(`/${other.id}/test`, {}).expect(202);
  });
});
