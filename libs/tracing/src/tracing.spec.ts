import { InMemorySpanExporter, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { endAfter, resample, SpanKind, SpanStatusCode, startSpan } from './spans.js';
import { isSampled, traceIdOf, traceparentOf } from './traceparent.js';
import { parseHeaders, startTracing } from './tracing.js';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const sampled = `00-${traceId}-b7ad6b7169203331-01`;
const unsampled = `00-${traceId}-b7ad6b7169203331-00`;
const CONFIG = { service: 'identity', version: '1.2.3', nodeEnv: 'test', traceSampleRatio: 1 };

describe('tracing', () => {
  it('passes the trace of a caller through while it is off', async () => {
    await startTracing(CONFIG, () => undefined)();
    const span = startSpan('off', { kind: SpanKind.SERVER, parent: sampled });
    expect(traceparentOf(span)).toBe(sampled);
    expect(traceparentOf(startSpan('off', { kind: SpanKind.SERVER, parent: undefined }))).toBeUndefined();
  });

  it('sends the spans of sampled traces, the last ones when it stops', async () => {
    const sent: ReadableSpan[] = [];
    const outcomes: [number, Error | undefined][] = [];
    const exporter = new InMemorySpanExporter();
    exporter.shutdown = () => Promise.resolve(void sent.push(...exporter.getFinishedSpans()));
    const stop = startTracing(
      { ...CONFIG, otlpEndpoint: 'http://127.0.0.1:4318' },
      (...outcome) => outcomes.push(outcome),
      () => exporter,
    );
    const parent = startSpan('parent', { kind: SpanKind.SERVER, parent: sampled, attributes: { 'rmm.org_id': 'o1' } });
    const failing = endAfter(startSpan('child', { kind: SpanKind.CLIENT, parent: traceparentOf(parent) }), () =>
      Promise.reject(new TypeError('a password')),
    );
    await expect(failing).rejects.toThrow('a password');
    parent.end();
    startSpan('other', { kind: SpanKind.SERVER, parent: unsampled }).end();
    startSpan('root', { kind: SpanKind.SERVER, parent: undefined }).end();
    await stop();

    expect(sent.map(({ name }) => name)).toEqual(['child', 'parent', 'root']);
    const [child, server] = sent;
    expect(server.resource.attributes).toMatchObject({ 'service.name': 'identity', 'service.version': '1.2.3' });
    expect(server.spanContext().traceId).toBe(traceId);
    expect(server.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
    expect(child.parentSpanContext?.spanId).toBe(server.spanContext().spanId);
    expect(child.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(child.attributes).toEqual({ 'error.type': 'TypeError' });
    expect(outcomes).toEqual([[3, undefined]]);
  });
});

describe('the headers for the collector', () => {
  it('are pairs with percent-encoded values', () => {
    expect(parseHeaders('authorization=Basic%20dXNlcjpwdw==, x-tenant=fleet')).toEqual({
      authorization: 'Basic dXNlcjpwdw==',
      'x-tenant': 'fleet',
    });
    expect(parseHeaders(undefined)).toEqual({});
  });
});

describe('sampling of a trace that a client names', () => {
  it('does not follow the client', () => {
    expect(resample(sampled, 0)).toBe(unsampled);
    expect(resample(unsampled, 1)).toBe(sampled);
    expect(resample('nonsense', 1)).toBeUndefined();
    expect(resample(undefined, 1)).toBeUndefined();
  });

  it('records the share of the configuration', () => {
    const count = 4_000;
    const recorded = Array.from({ length: count }, () => resample(sampled, 0.25)).filter(isSampled).length;
    expect(recorded / count).toBeGreaterThan(0.15);
    expect(recorded / count).toBeLessThan(0.35);
    expect(traceIdOf(resample(sampled, 0.25))).toBe(traceId);
  });
});
