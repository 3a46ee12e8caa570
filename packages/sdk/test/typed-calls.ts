/** Compiled with the specs, never run: shows that paths, parameters and bodies are typed. */
import type { FleetClient, WebhookEvent } from '../src/index.js';

export async function typedCalls(client: FleetClient): Promise<void> {
  const device = await client.get('/devices/{id}', { path: { id: 'd' } });
  const hostname: string = device.hostname;
  // @ts-expect-error: the field has another type
  const size: number = device.hostname;
  // @ts-expect-error: no such path
  await client.get('/device');
  // @ts-expect-error: the path has no such method
  await client.post('/devices/{id}', { path: { id: 'd' } });
  // @ts-expect-error: the path parameter is absent
  await client.get('/devices/{id}');
  // @ts-expect-error: no such query parameter
  await client.get('/devices', { query: { unknown: 'blue' } });
  // @ts-expect-error: the body is absent
  await client.post('/orgs/organizations');
  // @ts-expect-error: a field of the body has another type
  await client.post('/orgs/organizations', { body: { name: 1 } });
  // @ts-expect-error: the operation supports no idempotency key
  await client.post('/orgs/organizations', { body: { name: 'A' }, idempotencyKey: 'once' });
  for await (const webhook of client.list('/webhooks', { query: { orgId: 'o' } })) console.log(webhook.url);
  for await (const entry of client.list('/audit-logs')) console.log(entry.action);
  // @ts-expect-error: one record is no list
  client.list('/devices/{id}', { path: { id: 'd' } });
  for await (const site of client.export('/partner-api/sites')) console.log(site.timezone);
  // @ts-expect-error: no export of the partner interface
  client.export('/devices');
  console.log(hostname, size);
}

export function dataOf(event: WebhookEvent): string | null {
  if (event.type === 'device.offline') return event.data.lastSeenAt;
  // @ts-expect-error: a field of another event
  return event.type === 'user.logout' ? event.data.lastSeenAt : null;
}
