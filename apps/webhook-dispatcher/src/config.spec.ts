import { ConfigError } from '@rmm/service-kit';
import { readWebhookDispatcherConfig } from './config.js';

const MINIMAL = {
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://a:b@127.0.0.1/rmm',
  WORKER_DATABASE_URL: 'postgres://c:d@127.0.0.1/rmm',
  REDIS_URL: 'redis://127.0.0.1',
  NATS_URL: 'nats://127.0.0.1',
  JWKS_URL: 'http://127.0.0.1:4001/api/v1/auth/jwks.json',
};

function problemsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readWebhookDispatcherConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('readWebhookDispatcherConfig', () => {
  it('has the documented defaults', () => {
    const config = readWebhookDispatcherConfig(MINIMAL);
    expect(config.dispatcher).toEqual({
      timeoutMs: 30_000,
      webhookConcurrency: 10,
      originConcurrency: 200,
      workerConcurrency: 1_000,
      organizationConcurrency: 100,
      maxOrigins: 1_000,
      retryAfterCapSeconds: 3_600,
      autoFailAfterHours: 120,
      deliveryRetentionDays: 30,
      sendTraceparent: false,
    });
    expect(config.outboundExtraAllowedCidrs).toEqual([]);
    expect(config.outboundBlockedCidrs).toEqual([]);
    expect(config.port).toBe(4005);
  });

  it('lists every problem at once', () => {
    const problems = problemsOf({
      ...MINIMAL,
      JWKS_URL: '',
      WEBHOOK_TIMEOUT_MS: '15s',
      WEBHOOK_ORIGIN_CONCURRENCY: '0',
      WEBHOOK_DELIVERY_RETENTION_DAYS: '7',
    });
    expect(problems).toEqual(
      expect.arrayContaining([
        'JWKS_URL is required',
        'WEBHOOK_TIMEOUT_MS must be 1000 to 30000, got "15s"',
        'WEBHOOK_ORIGIN_CONCURRENCY must be 1 to 1000, got "0"',
        'WEBHOOK_DELIVERY_RETENTION_DAYS must be 8 to 365, got "7"',
      ]),
    );
  });

  it('sends traces to receivers only where traces are recorded', () => {
    const sending = { ...MINIMAL, WEBHOOK_SEND_TRACEPARENT: 'true' };
    expect(problemsOf(sending)).toEqual(['WEBHOOK_SEND_TRACEPARENT needs OTEL_EXPORTER_OTLP_ENDPOINT']);
    const recorded = { ...sending, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
    expect(readWebhookDispatcherConfig(recorded).dispatcher.sendTraceparent).toBe(true);
  });

  it('reads blocked ranges in every deployment', () => {
    const blocked = { ...MINIMAL, OUTBOUND_BLOCKED_CIDRS: '10.42.0.0/16, 2600:1f00::/24' };
    const texts = readWebhookDispatcherConfig(blocked).outboundBlockedCidrs.map(({ text }) => text);
    expect(texts).toEqual(['10.42.0.0/16', '2600:1f00::/24']);
    expect(problemsOf({ ...MINIMAL, OUTBOUND_BLOCKED_CIDRS: '10.42.0.0/33' })).toEqual([
      'OUTBOUND_BLOCKED_CIDRS must list CIDR ranges, got "10.42.0.0/33"',
    ]);
  });

  it('lets extra ranges through on self-hosted fleets only', () => {
    const extra = { ...MINIMAL, OUTBOUND_EXTRA_ALLOWED_CIDRS: '127.0.0.0/8' };
    expect(problemsOf(extra)).toHaveLength(1);
    expect(problemsOf({ ...extra, IS_HOSTED: 'false' })).toEqual([]);
  });
});
