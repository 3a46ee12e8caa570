import type { AccessHeartbeat } from '@rmm/contracts';
import { HeartbeatPublisher } from './heartbeat-publisher.service.js';

const sent: { topic: string; data: AccessHeartbeat }[] = [];
const broadcasts = {
  publishNow: (topic: string, data: object) => void sent.push({ topic, data: data as AccessHeartbeat }),
};
const numbers = () => sent.map(({ data }) => data.sequence);

beforeEach(() => sent.splice(0));

const accessPublisher = (canPublish?: () => Promise<boolean>) =>
  new HeartbeatPublisher(broadcasts, 'access.heartbeat', canPublish);

describe('HeartbeatPublisher', () => {
  it('publishes consecutive numbers under one publisher id', async () => {
    const heartbeat = accessPublisher();
    for (let i = 0; i < 3; i++) await heartbeat.publishHeartbeat();
    expect(numbers()).toEqual([1, 2, 3]);
    expect(new Set(sent.map(({ topic, data }) => `${topic} ${data.publisher}`)).size).toBe(1);
    expect(sent[0]).toMatchObject({ topic: 'access.heartbeat', data: { intervalMs: 1_000 } });
  });

  it('publishes on the given topic', async () => {
    await new HeartbeatPublisher(broadcasts, 'credential.heartbeat').publishHeartbeat();
    expect(sent[0].topic).toBe('credential.heartbeat');
  });

  it('publishes nothing and leaves a gap while canPublish returns false', async () => {
    const results = [true, false, true];
    const heartbeat = accessPublisher(() => Promise.resolve(results.shift() ?? true));
    for (let i = 0; i < 3; i++) await heartbeat.publishHeartbeat();
    expect(numbers()).toEqual([1, 3]);
  });

  it('publishes nothing when canPublish rejects', async () => {
    const heartbeat = accessPublisher(() => Promise.reject(new Error('database is down')));
    await heartbeat.publishHeartbeat();
    expect(sent).toEqual([]);
  });

  it('does not start a second heartbeat while the first waits for canPublish', async () => {
    let resolveCanPublish: (can: boolean) => void = () => undefined;
    const heartbeat = accessPublisher(() => new Promise((resolve) => (resolveCanPublish = resolve)));
    const both = [heartbeat.publishHeartbeat(), heartbeat.publishHeartbeat()];
    resolveCanPublish(true);
    await Promise.all(both);
    expect(numbers()).toEqual([1]);
  });

  it('leaves a gap when a number is skipped', async () => {
    const heartbeat = accessPublisher();
    await heartbeat.publishHeartbeat();
    heartbeat.skipNumber();
    await heartbeat.publishHeartbeat();
    expect(numbers()).toEqual([1, 3]);
  });
});
