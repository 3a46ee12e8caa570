import { randomBytes } from 'node:crypto';
import { connectToFleet, createOrganization, eventually, partnerWithMfa, WebhookReceiver } from '@rmm/testing';
import { createWebhook, must } from '../steps.js';
import { type CollectedSpan, TraceCollector } from './trace-collector.js';

jest.setTimeout(300_000);

/** Time in which the spans of one request arrive, unless they were dropped. */
const ARRIVAL = { timeoutMs: 20_000, everyMs: 100 };

describe('the trace of a request', () => {
  const fleet = connectToFleet();
  const collector = new TraceCollector();
  const receiver = new WebhookReceiver();

  beforeAll(() => collector.start(Number(new URL(String(process.env['OTEL_EXPORTER_OTLP_ENDPOINT'])).port)));
  afterAll(() => Promise.all([receiver.stop(), collector.stop()]));

  it('reaches from the client through services, messages and statements to the receiver of a webhook', async () => {
    const { client, partnerId } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    await createWebhook(client, orgId, { url: await receiver.start(), events: ['api_key.created'] });
    const keys: string[] = [];

    /** Creates a key. @returns the spans of its trace, and the request that the receiver of the webhook got */
    async function follow() {
      const traceId = randomBytes(16).toString('hex');
      const parentId = randomBytes(8).toString('hex');
      const body = { orgId, name: 'Reports', scopes: ['devices:read'] };
      const headers = { traceparent: `00-${traceId}-${parentId}-00` };
      const { id, key } = must(await client.send('POST', '/api-keys', body, { headers }), 201);
      keys.push(key);
      const find = (service: string, name: string): CollectedSpan => {
        const ofTrace = collector.spans.filter((span) => span.traceId === traceId);
        const span = ofTrace.find((each) => each.service === service && each.name === name);
        if (!span) throw new Error(`no span ${name} among ${ofTrace.map((each) => each.name).join(', ')}`);
        return span;
      };
      return eventually(() => {
        const delivery = receiver.received.find(({ body: event }) => event.data['apiKeyId'] === id);
        if (!delivery) throw new Error('the receiver of the webhook got nothing yet');
        return {
          ...{ traceId, parentId, delivery },
          http: find('credentials', 'POST /api/v1/api-keys'),
          transaction: find('credentials', 'postgresql transaction'),
          audit: find('identity', 'process api_key.create'),
          attempt: find('webhook-dispatcher', 'POST webhook'),
        };
      }, ARRIVAL);
    }

    // Services drop spans while too many wait for the collector, as at the start of this spec: every trace is recorded here.
    const found = await eventually(follow, { timeoutMs: 240_000 });
    const { http, transaction, audit, attempt } = found;
    expect(http.parentSpanId).toBe(found.parentId);
    expect(http.attributes).toMatchObject({ 'http.response.status_code': 201, 'rmm.partner_id': partnerId });
    for (const { parentSpanId } of [transaction, audit, attempt]) expect(parentSpanId).toBe(http.spanId);
    expect(attempt.attributes).toMatchObject({ 'http.response.status_code': 200, 'rmm.event_type': 'api_key.created' });
    expect(found.delivery.headers['traceparent']).toBe(`00-${found.traceId}-${attempt.spanId}-01`);

    await eventually(() => {
      const spans = new Map(collector.spans.map((span) => [span.spanId, span]));
      const calls = collector.spans.filter(
        ({ name, service }) => name.startsWith('rmm.rpc.') && service === 'identity',
      );
      const callers = calls.flatMap(({ parentSpanId = '' }) => spans.get(parentSpanId)?.service ?? []);
      expect(callers.filter((service) => service !== 'identity')).not.toEqual([]);
    }, ARRIVAL);
    const replicas = fleet.services.find(({ name }) => name === 'credentials')?.instances ?? [];
    const metrics = replicas.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
    expect((await Promise.all(metrics)).join()).toMatch(
      /^rmm_http_request_duration_seconds_bucket\{.*\} \d+ # \{trace_id="[0-9a-f]{32}"\}/m,
    );
    for (const secret of [...keys, String(client.credentials.bearer)]) {
      expect(collector.bodies.join()).not.toContain(secret);
    }
  });
});
