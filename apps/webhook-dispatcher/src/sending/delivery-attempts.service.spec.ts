import { type Outbound, OutboundFailed, type OutboundResponse, OutboundTimeout, UnsafeAddress } from '@rmm/outbound';
import type { Clock } from '@rmm/service-kit';
import type { DispatcherConfig } from '../config.js';
import type { Subscription } from '../subscriptions/subscription.mapper.js';
import type { BreakersService } from './breakers.service.js';
import { DeliveryAttemptsService } from './delivery-attempts.service.js';
import type { QueuedDelivery } from './queued-delivery.js';
import { DEFAULT_RETRY_POLICY } from './retry-delay.js';

const START = 1_767_225_600_000;
const SUBSCRIPTION: Subscription = {
  webhookId: '6a0f0f3f-5b1f-4f5b-9d2a-5b1f6a1e6a55',
  partnerId: 'p',
  orgId: 'o',
  types: new Set(),
  url: 'https://receiver.example/hook',
  origin: 'https://receiver.example',
  partition: 1,
  secret: null,
  previousSecret: null,
  standardWebhooks: false,
  headers: [],
  sealedHeaders: [],
  retryPolicy: DEFAULT_RETRY_POLICY,
};
const deliveryOf = (changes: Partial<QueuedDelivery> = {}): QueuedDelivery => ({
  id: 'd',
  createdAt: new Date(START),
  webhookId: SUBSCRIPTION.webhookId,
  partnerId: 'p',
  orgId: 'o',
  partition: 1,
  eventId: 'e',
  eventType: 'device.online',
  body: Buffer.from('{}'),
  maxAttempts: 6,
  attempt: 0,
  event: null,
  isStored: false,
  hasOutcome: false,
  state: 'table',
  ...changes,
});

describe('DeliveryAttemptsService', () => {
  let post: () => Promise<OutboundResponse>;
  let posted: unknown[];
  let recorded: unknown[][];
  let attempts: DeliveryAttemptsService;
  let config: { timeoutMs: number; retryAfterCapSeconds: number; sendTraceparent: boolean };

  beforeEach(() => {
    posted = [];
    recorded = [];
    let nowMs = START - 7;
    const outbound = { post: (request: unknown) => (posted.push(request), post()) };
    const breakers = {
      recordResponse: (...args: unknown[]) => recorded.push(['response', ...args]),
      recordFailure: (...args: unknown[]) => recorded.push(['failure', ...args]),
    };
    attempts = new DeliveryAttemptsService(
      outbound as unknown as Outbound,
      breakers as unknown as BreakersService,
      { nowMs: () => (nowMs += 7) } as Clock,
      (config = { timeoutMs: 30_000, retryAfterCapSeconds: 3_600, sendTraceparent: false }) as DispatcherConfig,
    );
  });

  const respond = (status: number, body = '', headers: OutboundResponse['headers'] = {}) => {
    post = () => Promise.resolve({ status, headers, body: Buffer.from(body), truncated: false });
  };
  const attempt = (changes?: Partial<QueuedDelivery>) => attempts.attempt(SUBSCRIPTION, deliveryOf(changes));

  it('sends the trace of the event to receivers if so configured, and never instead of a header of the webhook', async () => {
    respond(200);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const sentTo = async (headers: Subscription['headers']) => {
      await attempts.attempt({ ...SUBSCRIPTION, headers }, deliveryOf({ traceparent }));
      const { headers: sent } = posted.pop() as { headers: Record<string, string> };
      return Object.entries(sent).filter(([name]) => name.toLowerCase() === 'traceparent');
    };
    expect(await sentTo([])).toEqual([]);
    config.sendTraceparent = true;
    expect(await sentTo([])).toEqual([['traceparent', traceparent]]);
    expect(await sentTo([{ key: 'Traceparent', value: 'own' }])).toEqual([['Traceparent', 'own']]);
  });

  it('delivers what gets a 2xx', async () => {
    respond(204, 'ok');
    expect(await attempt()).toMatchObject({
      status: 'delivered',
      startedMs: START,
      responseStatus: 204,
      responseBody: 'ok',
      responseTimeMs: 7,
      errorMessage: null,
    });
    expect(posted).toMatchObject([
      { url: SUBSCRIPTION.url, body: Buffer.from('{}'), timeoutMs: 30_000, maxResponseBytes: 65_536 },
    ]);
    expect(recorded).toEqual([['response', SUBSCRIPTION.webhookId, 7]]);
  });

  it.each([301, 400, 500])(
    'retries a %d after the delay of its policy, with the beginning of the response',
    async (status) => {
      respond(status, 'x'.repeat(2_000));
      const outcome = await attempt({ attempt: 2 });
      expect(outcome).toMatchObject({ status: 'retrying', delayMs: 4_000, pauseMs: 0, responseStatus: status });
      expect(outcome.responseBody).toHaveLength(1_000);
      expect(outcome.errorMessage).toBe(`HTTP ${status}: ${'x'.repeat(500)}`);
    },
  );

  it('fails when the retries are used up', async () => {
    respond(500);
    expect(await attempt({ attempt: 5 })).toMatchObject({ status: 'failed', delayMs: 0 });
  });

  it('pauses the webhook as long as a 429 or 503 asks, up to the cap, and after a 429 without a time as long as its retry', async () => {
    respond(503, '', { 'retry-after': '60' });
    expect(await attempt()).toMatchObject({ status: 'retrying', delayMs: 60_000, pauseMs: 60_000 });
    respond(429, '', { 'retry-after': '999999' });
    expect(await attempt()).toMatchObject({ delayMs: 3_600_000, pauseMs: 3_600_000 });
    respond(429);
    expect(await attempt({ attempt: 1 })).toMatchObject({ delayMs: 2_000, pauseMs: 2_000 });
    respond(503);
    expect(await attempt()).toMatchObject({ delayMs: 1_000, pauseMs: 0 });
  });

  it('retries after a failure of the network, and records it for the breaker', async () => {
    const error = new OutboundTimeout(30_000);
    post = () => Promise.reject(error);
    const outcome = await attempt();
    expect(outcome).toMatchObject({ status: 'retrying', responseStatus: null, responseTimeMs: 7 });
    expect([outcome.errorMessage, outcome.shape === null]).toEqual(['Timeout after 30000 ms', false]);
    expect(recorded).toEqual([['failure', SUBSCRIPTION.webhookId, error, 7]]);
    post = () => Promise.reject(new OutboundFailed('connect ECONNREFUSED', 'ECONNREFUSED'));
    expect((await attempt()).errorMessage).toContain('ECONNREFUSED');
  });

  it('has no response time and no request for a URL that is not safe', async () => {
    post = () => Promise.reject(new UnsafeAddress(['the address is private']));
    expect(await attempt()).toMatchObject({
      status: 'retrying',
      shape: null,
      responseTimeMs: null,
      errorMessage: 'Unsafe webhook URL: the address is private',
    });
  });

  it('sends nothing when the body is no longer stored', async () => {
    expect(await attempt({ body: null })).toMatchObject({
      status: 'retrying',
      errorMessage: 'The payload is no longer stored',
    });
    expect(posted).toEqual([]);
  });
});
