import { RedisConnections, UnavailableError } from '@rmm/service-kit';
import { IdentityTestApp } from '../../test/identity-test-app.js';
import { PasskeyChallengesRepository, type Ceremony } from './passkey-challenges.repository.js';

const registration: Ceremony = { purpose: 'registration', userId: 'user', sessionId: 'session' };

describe('PasskeyChallengesRepository', () => {
  let testApp: IdentityTestApp;
  let repository: PasskeyChallengesRepository;
  let redis: RedisConnections;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    const identity = await testApp.startReplica();
    repository = identity.app.get(PasskeyChallengesRepository, { strict: false });
    redis = identity.app.get(RedisConnections);
  }, 120_000);
  afterAll(() => testApp.stop());

  it('returns a challenge to one of concurrent callers', async () => {
    await repository.save(registration, { challenge: 'abc', name: 'Key' });
    const read = await Promise.all(Array.from({ length: 20 }, () => repository.consume(registration)));
    expect(read.filter((challenge) => challenge !== null)).toEqual([{ challenge: 'abc', name: 'Key' }]);
    expect(await repository.consume(registration)).toBeNull();
  });

  it('keeps the challenges of purposes, users, sessions and logins apart', async () => {
    await repository.save(registration, { challenge: 'abc' });
    const others: Ceremony[] = [
      { ...registration, purpose: 'step-up' },
      { ...registration, userId: 'other' },
      { ...registration, sessionId: 'other' },
      { purpose: 'second-factor', tempToken: 'user|session' },
      { purpose: 'sign-in', challenge: 'abc' },
    ];
    for (const other of others) expect(await repository.consume(other)).toBeNull();
    expect(await repository.consume(registration)).toEqual({ challenge: 'abc' });
  });

  it('replaces the challenge of a ceremony and forgets it after five minutes', async () => {
    await repository.save(registration, { challenge: 'first' });
    await repository.save(registration, { challenge: 'second' });
    const [key = '', ...others] = await redis.shared.keys('rmm:identity:passkey-challenge:*');
    expect(others).toEqual([]);
    expect(key).not.toContain('session');
    const ttl = await redis.shared.ttl(key);
    expect(ttl).toBeGreaterThan(290);
    expect(ttl).toBeLessThanOrEqual(300);
    expect(await repository.consume(registration)).toEqual({ challenge: 'second' });
  });

  it('throws UnavailableError when Redis is down', async () => {
    const down = {
      shared: { set: () => Promise.reject(new Error('down')), getdel: () => Promise.reject(new Error('down')) },
    };
    const broken = new PasskeyChallengesRepository(down as unknown as RedisConnections);
    await expect(broken.save(registration, { challenge: 'abc' })).rejects.toThrow(UnavailableError);
    await expect(broken.consume(registration)).rejects.toThrow(UnavailableError);
  });
});
