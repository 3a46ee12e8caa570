import { type AccessHeartbeat } from '@rmm/contracts';
import { AccessFeed, CREDENTIAL_HEARTBEAT, CredentialFeed } from './heartbeat-publisher.js';

const sent: { topic: string; data: AccessHeartbeat }[] = [];
const broadcasts = {
  publishNow: (topic: string, data: object) => void sent.push({ topic, data: data as AccessHeartbeat }),
};
const numbers = () => sent.map(({ data }) => data.sequence);

beforeEach(() => sent.splice(0));

describe('a heart', () => {
  it('counts up by one under one name', async () => {
    const feed = new AccessFeed(broadcasts);
    for (let i = 0; i < 3; i++) await feed.beat();
    expect(numbers()).toEqual([1, 2, 3]);
    expect(new Set(sent.map(({ topic, data }) => `${topic} ${data.publisher}`)).size).toBe(1);
    expect(sent[0]).toMatchObject({ topic: 'access.heartbeat', data: { intervalMs: 1_000 } });
  });

  it('of credentials beats on a topic of its own', async () => {
    await new CredentialFeed(broadcasts).beat();
    expect(sent[0].topic).toBe(CREDENTIAL_HEARTBEAT);
  });

  it('that cannot vouch for its invalidations leaves a hole', async () => {
    const answers = [true, false, true];
    const feed = new AccessFeed(broadcasts, () => Promise.resolve(answers.shift() ?? true));
    for (let i = 0; i < 3; i++) await feed.beat();
    expect(numbers()).toEqual([1, 3]);
  });

  it('does not beat when it cannot even ask', async () => {
    const feed = new AccessFeed(broadcasts, () => Promise.reject(new Error('database is down')));
    await feed.beat();
    expect(sent).toEqual([]);
  });

  it('waits for a slow answer instead of overtaking itself', async () => {
    let answer: (may: boolean) => void = () => undefined;
    const feed = new AccessFeed(broadcasts, () => new Promise((resolve) => (answer = resolve)));
    const beats = [feed.beat(), feed.beat()];
    answer(true);
    await Promise.all(beats);
    expect(numbers()).toEqual([1]);
  });

  it('skips a number when something may have been lost on its side', async () => {
    const feed = new AccessFeed(broadcasts);
    await feed.beat();
    feed.skip();
    await feed.beat();
    expect(numbers()).toEqual([1, 3]);
  });
});
