import type { AccessHeartbeat } from '@rmm/contracts';
import {
  HEARTBEAT_INTERVAL_MS,
  HeartbeatPublisher,
  MAX_CHECK_MS,
  MAX_INVALIDATION_DELAY_MS,
} from './heartbeat-publisher.service.js';
import { MAX_SILENCE_MS } from './invalidation-feeds.service.js';

const sent: { topic: string; data: AccessHeartbeat }[] = [];
const broadcasts = {
  publishNow: (topic: string, data: object) => void sent.push({ topic, data: data as AccessHeartbeat }),
};
const numbers = () => sent.map(({ data }) => data.sequence);

beforeEach(() => sent.splice(0));
afterEach(() => jest.restoreAllMocks());

const accessPublisher = (oldestInvalidationMs?: () => Promise<number>) =>
  new HeartbeatPublisher(broadcasts, 'access.heartbeat', oldestInvalidationMs);

describe('HeartbeatPublisher', () => {
  it('publishes consecutive numbers under one publisher id', async () => {
    const heartbeat = accessPublisher();
    for (let i = 0; i < 3; i++) await heartbeat.publishHeartbeat();
    expect(numbers()).toEqual([1, 2, 3]);
    expect(new Set(sent.map(({ topic, data }) => `${topic} ${data.publisher}`)).size).toBe(1);
    expect(sent[0]).toMatchObject({ topic: 'access.heartbeat', data: { intervalMs: 1_000 } });
  });

  it.each(['credential.heartbeat', 'organization.heartbeat'] as const)('publishes on %s', async (topic) => {
    await new HeartbeatPublisher(broadcasts, topic).publishHeartbeat();
    expect(sent[0].topic).toBe(topic);
  });

  it('publishes nothing and leaves a gap while an invalidation waits longer than four seconds', async () => {
    const delays = [0, MAX_INVALIDATION_DELAY_MS + 1, MAX_INVALIDATION_DELAY_MS];
    const heartbeat = accessPublisher(() => Promise.resolve(delays.shift() ?? 0));
    for (let i = 0; i < 3; i++) await heartbeat.publishHeartbeat();
    expect(numbers()).toEqual([1, 3]);
  });

  it('publishes nothing when the delay cannot be read', async () => {
    await accessPublisher(() => Promise.reject(new Error('database is down'))).publishHeartbeat();
    expect(sent).toEqual([]);
  });

  it('publishes nothing when reading the delay takes longer than two seconds', async () => {
    let elapsedMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => elapsedMs);
    await accessPublisher(() => Promise.resolve((elapsedMs += MAX_CHECK_MS + 1) && 0)).publishHeartbeat();
    expect(sent).toEqual([]);
  });

  it('does not start a second heartbeat while the check of the first runs', async () => {
    let resolveDelay: (ms: number) => void = () => undefined;
    const heartbeat = accessPublisher(() => new Promise((resolve) => (resolveDelay = resolve)));
    const both = [heartbeat.publishHeartbeat(), heartbeat.publishHeartbeat()];
    resolveDelay(0);
    await Promise.all(both);
    expect(numbers()).toEqual([1]);
  });

  it('stops early enough that subscribers refuse within thirty seconds of the change', () => {
    expect(MAX_INVALIDATION_DELAY_MS + MAX_CHECK_MS + HEARTBEAT_INTERVAL_MS + MAX_SILENCE_MS).toBeLessThan(30_000);
  });
});
