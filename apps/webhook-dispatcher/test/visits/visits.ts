import { eventually } from '@rmm/testing-services';
import type { Visited } from './visited.js';

const REPORT = { 'Content-Type': 'application/json', Server: 'nginx' };

/** Webhooks themselves, with several shapes where there are several. */
async function visitWebhooks(visited: Visited): Promise<void> {
  const { orgId } = visited.organization;
  const { body } = await visited.post('/webhooks', {
    orgId,
    name: 'Ticket system',
    url: visited.receiver.url,
    events: ['device.*', 'alert.triggered'],
    secret: 'a secret of our own',
    headers: [
      { key: 'X-Environment', value: 'production' },
      { key: 'Authorization', value: 'Bearer 7c1e' },
    ],
  });
  await visited.post('/webhooks', { orgId, name: 'Chat', url: visited.receiver.url, events: ['*'] });
  await visited.get(`/webhooks?orgId=${orgId}&status=active`);
  await visited.get('/webhooks/event-types');
  const webhook = `/webhooks/${body.id}`;
  await visited.patch(webhook, { name: 'Ticket system, Europe', events: ['device.offline'] });
  await visited.patch(webhook, { status: 'paused' });
  await visited.patch(webhook, { status: 'active', standardWebhooks: true });
  await visited.post(`${webhook}/rotate-secret`, { overlapSeconds: 3_600 });
  await visited.post(`${webhook}/rotate-secret`, { secret: 'another of our own', overlapSeconds: 0 });
  await visited.get(webhook);
  await visited.delete(webhook);
}

/** Deliveries: one that arrives at the second attempt, and those that die. */
async function visitDeliveries(visited: Visited): Promise<void> {
  const { receiver, world } = visited;
  receiver.received.length = 0;
  receiver.answer = (response) =>
    response.writeHead(receiver.received.length === 1 ? 503 : 200, REPORT).end('{"received":true}');
  const { orgId } = visited.organization;
  const { body } = await visited.post('/webhooks', {
    orgId,
    name: 'Reports',
    url: receiver.url,
    events: ['device.*'],
    secret: 'a secret of our own',
  });
  const webhook = `/webhooks/${body.id}`;
  const tested = await visited.post(`${webhook}/test`, { event: 'device.offline', payload: { hostname: 'pc-17' } });
  await visited.post(`${webhook}/test`);
  const { id } = tested.body.delivery;
  const is = (delivery: string, status: string) =>
    eventually(async () =>
      expect(await world.deliveries(body.id)).toContainEqual(expect.objectContaining({ id: delivery, status })),
    );
  await is(id, 'delivered');
  await visited.get(`${webhook}/deliveries/${id}/attempts`);
  await visited.get(`${webhook}/deliveries?status=delivered`);
  await visited.get(webhook);

  await world.setRetryPolicy(body.id, { maxRetries: 0 });
  receiver.answer = (response) => response.writeHead(500, REPORT).end('{"error":"busy"}');
  const failing = await Promise.all([1, 2, 3].map(() => visited.post(`${webhook}/test`)));
  const [retried, dead, dropped] = failing.map((answer) => String(answer.body.delivery.id)) as [string, string, string];
  for (const delivery of [retried, dead, dropped]) await is(delivery, 'failed');
  receiver.answer = (response) => response.writeHead(200, REPORT).end();
  await visited.get(`${webhook}/deliveries?status=failed`);
  await visited.get(`/webhooks/dead-letters?webhookId=${body.id}`);
  await visited.getAsSystem('/webhooks/queues');
  await visited.post(`${webhook}/retry/${retried}`);
  await visited.post(`/webhooks/dead-letters/${dead}/retry`);
  await visited.delete(`/webhooks/dead-letters/${dropped}`);
  await visited.post(`${webhook}/recover`, { since: new Date(Date.now() - 3_600_000).toISOString() });
  await visited.post(`${webhook}/recover`, {
    since: new Date(Date.now() - 3_600_000).toISOString(),
    status: 'retrying',
  });
}

/** What `openapi.spec.ts` walks: every operation is called by one of them, or the spec fails. */
export const VISITS: readonly ((visited: Visited) => Promise<void>)[] = [visitWebhooks, visitDeliveries];
