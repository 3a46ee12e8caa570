import { startTracing } from '@rmm/tracing';
import { handleBatchInContext } from './execution-context.js';

interface ExportedSpan {
  name: string;
  parentSpanContext?: { traceId: string; spanId: string };
}

const envelopeOf = (n: number, flags: string) => ({
  id: `message-${n}`,
  type: `type${n}.created`,
  schemaVersion: 1,
  timestamp: '2026-01-01T00:00:00.000Z',
  partnerId: null,
  orgId: null,
  aggregateId: 'a',
  aggregateVersion: 0,
  traceparent: `00-0af7651916cd43dd8448eb211c80319${n}-b7ad6b716920333${n}-${flags}`,
  data: {},
});

describe('the spans of a batch of messages', () => {
  // Recording goes on for the modules of this file, which therefore runs alone.
  afterAll(() => jest.resetModules());

  it('belong to the trace of each message that is recorded', async () => {
    const sent: ExportedSpan[] = [];
    const config = {
      ...{ service: 'identity', version: '1', nodeEnv: 'test', traceSampleRatio: 1 },
      otlpEndpoint: 'http://127.0.0.1:4318',
    };
    const stop = startTracing(
      config,
      () => undefined,
      () => ({
        export: (spans, done) => {
          sent.push(...spans);
          done({ code: 0 });
        },
        shutdown: () => Promise.resolve(),
      }),
    );
    const batch = [envelopeOf(1, '01'), envelopeOf(2, '00'), envelopeOf(3, '01')] as const;
    expect(await handleBatchInContext(batch, 'identity-audit', () => Promise.resolve('handled'))).toBe('handled');
    await stop();
    expect(
      sent.map(({ name, parentSpanContext: parent }) => [name, parent?.traceId.at(-1), parent?.spanId.at(-1)]),
    ).toEqual([
      ['process type3.created', '3', '3'],
      ['process type1.created', '1', '1'],
    ]);
  });
});
