import { randomBytes } from 'node:crypto';
import { connectToFleet, createOrganization, eventually, partnerWithMfa, WebhookReceiver } from '@rmm/testing';
import { createWebhook, must } from '../steps.js';
import { type CollectedSpan, TraceCollector } from './trace-collector.js';

jest.setTimeout(300_000);

/** Time in which the spans of one request arrive, unless they were dropped: services never wait for a collector. */
const ARRIVAL = { timeoutMs: 30_000, everyMs: 100 };

describe('the trace of a request', () => {
  const fleet = connectToFleet();
  const collector = new TraceCollector();
  const receiver = new WebhookReceiver();
  const secrets: string[] = [];
  let url: string;

  beforeAll(async () => {
    await collector.start(Number(new URL(String(process.env['OTEL_EXPORTER_OTLP_ENDPOINT'])).port));
    url = await receiver.start();
  });
  afterAll(() => Promise.all([receiver.stop(), collector.stop()]));

  /** Creates a key of a new partner. @returns spans of its trace, and the request that the receiver of the webhook got */
  async function follow() {
    const { client, partnerId } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    await createWebhook(client, orgId, { url, events: ['api_key.created'] });
    const traceId = randomBytes(16).toString('hex');
    const parentId = randomBytes(8).toString('hex');
    const body = { orgId, name: 'Reports', scopes: ['devices:read'] };
    const headers = { traceparent: `00-${traceId}-${parentId}-00` };
    const { id, key } = must(await client.send('POST', '/api-keys', body, { headers }), 201);
    secrets.push(key as string, String(client.credentials.bearer));
    const find = (service: string, name: string): CollectedSpan => {
      const ofTrace = collector.spans.filter((span) => span.traceId === traceId);
      const span = ofTrace.find((each) => each.service === service && each.name === name);
      if (!span) throw new Error(`no span ${name} among ${ofTrace.map((each) => each.name).join(', ')}`);
      return span;
    };
    const delivery = await eventually(() => {
      const found = receiver.received.find(({ body: event }) => event.data['apiKeyId'] === id);
      if (!found) throw new Error('the receiver of the webhook got nothing yet');
      return found;
    });
    const sent = String(delivery.headers['traceparent']);
    if (!sent.endsWith('-01')) throw new Error('the trace was not recorded: the fleet decides this at random');
    return eventually(
      () => ({
        ...{ partnerId, parentId, traceId, sent },
        http: find('credentials', 'POST /api/v1/api-keys'),
        call: find('credentials', 'rmm.rpc.identity.access.resolve'),
        transaction: find('credentials', 'postgresql transaction'),
        audit: find('identity', 'process api_key.create'),
        attempt: find('webhook-dispatcher', 'POST webhook'),
      }),
      ARRIVAL,
    );
  }

  it('reaches from the client through services, messages and statements to the receiver of a webhook', async () => {
    const found = await eventually(follow, { timeoutMs: 240_000 });
    const { http, transaction, audit, attempt, call } = found;
    expect(http.parentSpanId).toBe(found.parentId);
    expect(http.attributes).toMatchObject({ 'http.response.status_code': 201, 'rmm.partner_id': found.partnerId });
    for (const { parentSpanId } of [transaction, audit, attempt, call]) expect(parentSpanId).toBe(http.spanId);
    expect(attempt.attributes).toMatchObject({ 'http.response.status_code': 200, 'rmm.event_type': 'api_key.created' });
    expect(found.sent).toBe(`00-${found.traceId}-${attempt.spanId}-01`);

    const replicas = fleet.services.find(({ name }) => name === 'credentials')?.instances ?? [];
    const metrics = replicas.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
    expect((await Promise.all(metrics)).join()).toMatch(
      /^rmm_http_request_duration_seconds_bucket\{.*\} \d+ # \{trace_id="[0-9a-f]{32}"\}/m,
    );
    for (const secret of secrets) {
      expect(collector.bodies.join()).not.toContain(secret);
    }
  });
});
