import { eventually } from '@rmm/testing-services';
import type { RecordedClient } from './recorded-client.js';

const REPORT = { 'Content-Type': 'application/json', Server: 'nginx' };

/** Calls the routes of webhooks, each response shape once. */
async function recordWebhooks(client: RecordedClient): Promise<void> {
  const { orgId } = client.organization;
  const { body } = await client.post('/webhooks', {
    orgId,
    name: 'Ticket system',
    url: client.receiver.url,
    events: ['device.*', 'alert.triggered'],
    secret: 'a secret of our own',
    headers: [
      { key: 'X-Environment', value: 'production' },
      { key: 'Authorization', value: 'Bearer 7c1e' },
    ],
  });
  await client.post('/webhooks', { orgId, name: 'Chat', url: client.receiver.url, events: ['*'] });
  await client.get(`/webhooks?orgId=${orgId}&status=active`);
  await client.get('/webhooks/event-types');
  const webhook = `/webhooks/${body.id}`;
  await client.patch(webhook, { name: 'Ticket system, Europe', events: ['device.offline'] });
  await client.patch(webhook, { status: 'paused' });
  await client.patch(webhook, { status: 'active', standardWebhooks: true });
  await client.post(`${webhook}/rotate-secret`, { overlapSeconds: 3_600 });
  await client.post(`${webhook}/rotate-secret`, { secret: 'another of our own', overlapSeconds: 0 });
  await client.get(webhook);
  await client.delete(webhook);
}

/** Calls the routes of deliveries and dead letters: one succeeds at the second attempt, others fail. */
async function recordDeliveries(client: RecordedClient): Promise<void> {
  const { receiver, cluster } = client;
  receiver.received.length = 0;
  receiver.respond = (response) =>
    response.writeHead(receiver.received.length === 1 ? 503 : 200, REPORT).end('{"received":true}');
  const { orgId } = client.organization;
  const { body } = await client.post('/webhooks', {
    orgId,
    name: 'Reports',
    url: receiver.url,
    events: ['device.*'],
    secret: 'a secret of our own',
  });
  const webhook = `/webhooks/${body.id}`;
  const tested = await client.post(`${webhook}/test`, { event: 'device.offline', payload: { hostname: 'pc-17' } });
  await client.post(`${webhook}/test`);
  const { id } = tested.body.delivery;
  const waitForStatus = (delivery: string, status: string) =>
    eventually(async () =>
      expect(await cluster.deliveries(body.id)).toContainEqual(expect.objectContaining({ id: delivery, status })),
    );
  await waitForStatus(id, 'delivered');
  await client.get(`${webhook}/deliveries/${id}/attempts`);
  await client.get(`${webhook}/deliveries?status=delivered`);
  await client.get(webhook);

  await cluster.setRetryPolicy(body.id, { maxRetries: 0 });
  receiver.respond = (response) => response.writeHead(500, REPORT).end('{"error":"busy"}');
  const failing = await Promise.all([1, 2, 3].map(() => client.post(`${webhook}/test`)));
  const [retried, dead, dropped] = failing.map((response) => String(response.body.delivery.id)) as [
    string,
    string,
    string,
  ];
  for (const delivery of [retried, dead, dropped]) await waitForStatus(delivery, 'failed');
  receiver.respond = (response) => response.writeHead(200, REPORT).end();
  await client.get(`${webhook}/deliveries?status=failed`);
  await client.get(`/webhooks/dead-letters?webhookId=${body.id}`);
  await client.getAsSystem('/webhooks/queues');
  await client.post(`${webhook}/retry/${retried}`);
  await client.post(`/webhooks/dead-letters/${dead}/retry`);
  await client.delete(`/webhooks/dead-letters/${dropped}`);
  await client.post(`${webhook}/recover`, { since: new Date(Date.now() - 3_600_000).toISOString() });
  await client.post(`${webhook}/recover`, {
    since: new Date(Date.now() - 3_600_000).toISOString(),
    status: 'retrying',
  });
}

/** Calls the routes of webhooks of the partner: a test succeeds, others fail. */
async function recordPartnerWebhooks(client: RecordedClient): Promise<void> {
  const { receiver, cluster } = client;
  receiver.respond = (response) => response.writeHead(200, REPORT).end('{"received":true}');
  const { body } = await client.post('/partner-webhooks', {
    name: 'Ticket system of all customers',
    url: receiver.url,
    events: ['device.*', 'alert.triggered'],
    secret: 'a secret of our own',
  });
  const webhook = `/partner-webhooks/${body.id}`;
  await client.get('/partner-webhooks?status=active');
  await client.patch(webhook, { name: 'Ticket system' });
  await client.post(`${webhook}/rotate-secret`, { overlapSeconds: 3_600 });
  const waitForStatus = (id: string, status: string) =>
    eventually(async () =>
      expect(await cluster.deliveries(body.id)).toContainEqual(expect.objectContaining({ id, status })),
    );
  const tested = await client.post(`${webhook}/test`, { event: 'device.offline', payload: { hostname: 'pc-17' } });
  await waitForStatus(tested.body.delivery.id, 'delivered');
  await client.get(`${webhook}/deliveries/${tested.body.delivery.id}/attempts`);
  await cluster.setRetryPolicy(body.id, { maxRetries: 0 });
  receiver.respond = (response) => response.writeHead(500, REPORT).end('{"error":"busy"}');
  const failing: string[] = [];
  for (let i = 0; i < 3; i += 1) failing.push(String((await client.post(`${webhook}/test`)).body.delivery.id));
  for (const id of failing) await waitForStatus(id, 'failed');
  receiver.respond = (response) => response.writeHead(200, REPORT).end();
  await client.get(`${webhook}/deliveries?status=failed`);
  await client.get(`/partner-webhooks/dead-letters?webhookId=${body.id}`);
  await client.post(`${webhook}/retry/${failing[0]}`);
  await client.post(`/partner-webhooks/dead-letters/${failing[1]}/retry`);
  await client.delete(`/partner-webhooks/dead-letters/${failing[2]}`);
  await client.post(`${webhook}/recover`, { since: new Date(Date.now() - 3_600_000).toISOString() });
  await client.get(webhook);
  await client.delete(webhook);
}

/** Calls every operation at least once; `openapi.spec.ts` fails when one is missing. */
export const API_EXAMPLES: readonly ((client: RecordedClient) => Promise<void>)[] = [
  recordWebhooks,
  recordDeliveries,
  recordPartnerWebhooks,
];
