import { connectToFleet, createOrganization, eventually, partnerWithMfa, WebhookReceiver } from '@rmm/testing';
import { createWebhook, must } from '../steps.js';
import { type CollectedSpan, TraceCollector } from './trace-collector.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT_ID = '00f067aa0ba902b7';

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
    const headers = { traceparent: `00-${TRACE_ID}-${PARENT_ID}-00` };
    const body = { orgId, name: 'Reports', scopes: ['devices:read'] };
    const key = must(await client.send('POST', '/api-keys', body, { headers }), 201);

    const [request] = await receiver.waitFor('api_key.created');
    const ofTrace = () => collector.spans.filter(({ traceId }) => traceId === TRACE_ID);
    const find = (service: string, name: string): CollectedSpan => {
      const span = ofTrace().find((each) => each.service === service && each.name === name);
      if (!span)
        throw new Error(
          `no span ${name} among ${ofTrace()
            .map((each) => each.name)
            .join(', ')}`,
        );
      return span;
    };
    const [http, transaction, audit, attempt] = await eventually(() => [
      find('credentials', 'POST /api/v1/api-keys'),
      find('credentials', 'postgresql transaction'),
      find('identity', 'process api_key.create'),
      find('webhook-dispatcher', 'POST webhook'),
    ]);
    expect(http.parentSpanId).toBe(PARENT_ID);
    expect(http.attributes).toMatchObject({ 'http.response.status_code': 201, 'rmm.partner_id': partnerId });
    for (const { parentSpanId } of [transaction, audit, attempt]) expect(parentSpanId).toBe(http.spanId);
    expect(attempt.attributes).toMatchObject({ 'http.response.status_code': 200, 'rmm.event_type': 'api_key.created' });
    expect(request.headers['traceparent']).toBe(`00-${TRACE_ID}-${attempt.spanId}-01`);

    const calls = collector.spans.filter(({ name, service }) => name.startsWith('rmm.rpc.') && service === 'identity');
    const callers = new Map(collector.spans.map((span) => [span.spanId, span]));
    expect(calls.map(({ parentSpanId = '' }) => callers.get(parentSpanId)?.service)).toContain('credentials');
    const replicas = fleet.services.find(({ name }) => name === 'credentials')?.instances ?? [];
    const metrics = replicas.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
    expect((await Promise.all(metrics)).join()).toMatch(
      /^rmm_http_request_duration_seconds_bucket\{.*\} \d+ # \{trace_id="[0-9a-f]{32}"\}/m,
    );
    for (const secret of [key.key, String(client.credentials.bearer)] as string[]) {
      expect(collector.bodies.join()).not.toContain(secret);
    }
  });
});
