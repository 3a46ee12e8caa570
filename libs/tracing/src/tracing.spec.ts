import { InMemorySpanExporter, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { resample, setSampleRatio } from './sampling.js';
import { endAfter, SpanKind, SpanStatusCode, startSpan } from './spans.js';
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

describe('sampling', () => {
  const COUNT = 4_000;
  afterEach(() => setSampleRatio(undefined));

  const repeat = (work: () => string | undefined) => Array.from({ length: COUNT }, work);
  const expectQuarter = (traceparents: (string | undefined)[]) => {
    const share = traceparents.filter(isSampled).length / COUNT;
    expect(share).toBeGreaterThan(0.15);
    expect(share).toBeLessThan(0.35);
  };

  it('does not follow a client', () => {
    setSampleRatio(0);
    expect(resample(sampled)).toMatch(new RegExp(`^00-${traceId}-(?!b7ad6b7169203331)[0-9a-f]{16}-00$`));
    setSampleRatio(1);
    expect(resample(unsampled)).toBe(sampled);
    expect(resample('nonsense')).toBeUndefined();
    expect(resample(undefined)).toBeUndefined();
  });

  it('passes what a client sends through while tracing is off', () => {
    expect(resample(sampled)).toBe(sampled);
    expect(resample(undefined)).toBeUndefined();
  });

  it('records the share of the configuration', async () => {
    const exporter = new InMemorySpanExporter();
    const endpoint = { otlpEndpoint: 'http://127.0.0.1:4318', traceSampleRatio: 0.25 };
    const stop = startTracing(
      { ...CONFIG, ...endpoint },
      () => undefined,
      () => exporter,
    );
    expectQuarter(repeat(() => resample(sampled)));
    expect(traceIdOf(resample(sampled))).toBe(traceId);
    const roots = repeat(() => traceparentOf(startSpan('root', { kind: SpanKind.SERVER, parent: undefined })));
    expectQuarter(roots);
    expect(new Set(roots.map(traceIdOf)).size).toBe(COUNT);
    await stop();
  });

  it('keeps the ids of a trace that is not recorded', () => {
    setSampleRatio(0);
    const root = startSpan('root', { kind: SpanKind.SERVER, parent: undefined });
    expect(root.isRecording()).toBe(false);
    const child = startSpan('child', { kind: SpanKind.CLIENT, parent: traceparentOf(root) });
    expect(traceparentOf(root)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    expect(traceparentOf(child)).toBe(traceparentOf(root));
  });
});
