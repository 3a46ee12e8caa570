import type { RateLimits } from '@rmm/rate-limits';
import { RateLimitedError, UnavailableError } from '@rmm/service-kit';
import { FixedClock } from '@rmm/testing-services';
import { KeyRateLimited } from '../access.errors.js';
import { FailedAuthenticationThrottle } from './failed-authentication-throttle.service.js';

let clock: FixedClock;
let charged: string[];
let refuse: Error | null;
let throttle: FailedAuthenticationThrottle;

beforeEach(() => {
  clock = new FixedClock();
  charged = [];
  refuse = null;
  const hit = ({ name, limit, windowSeconds, onRedisDown, countRefused }: Parameters<Hit>[0], bucket: string) => {
    charged.push(`${name} ${limit}/${windowSeconds} ${onRedisDown} ${countRefused} ${bucket}`);
    return refuse ? Promise.reject(refuse) : Promise.resolve();
  };
  throttle = new FailedAuthenticationThrottle({ hit } as unknown as RateLimits, clock);
});

type Hit = RateLimits['hit'];

describe('FailedAuthenticationThrottle', () => {
  it('counts failures per address, also refused ones, and refuses without Redis', async () => {
    await throttle.recordFailure('api_key', '203.0.113.9');
    await throttle.recordFailure('partner_key', '203.0.113.9');
    expect(charged).toEqual([
      'api-key-failures 300/60 refuse true 203.0.113.9',
      'partner-key-failures 300/60 refuse true 203.0.113.9',
    ]);
  });

  it('rejects an address over the limit from memory until the window opens', async () => {
    refuse = new RateLimitedError(undefined, { retryAfterSeconds: 60 });
    await expect(throttle.recordFailure('api_key', 'a')).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: 60,
    });
    clock.advance(15_000);
    expect(() => throttle.assertNotBlocked('api_key', 'a')).toThrow(KeyRateLimited);
    expect(() => throttle.assertNotBlocked('api_key', 'b')).not.toThrow();
    expect(() => throttle.assertNotBlocked('partner_key', 'a')).not.toThrow();
    expect(charged).toHaveLength(1);
    clock.advance(45_000);
    expect(() => throttle.assertNotBlocked('api_key', 'a')).not.toThrow();
  });

  it('uses the error code of the partner API for partner keys', async () => {
    refuse = new RateLimitedError(undefined, { retryAfterSeconds: 5 });
    await expect(throttle.recordFailure('partner_key', 'a')).rejects.toMatchObject({
      code: 'partner_api_auth_rate_limited',
    });
  });

  it('allows an address as many look-ups at a time as it may have failures', async () => {
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const lookUp = (bucket = 'a') => throttle.limitLookUps('api_key', bucket, () => gate);
    const running = Array.from({ length: 300 }, () => lookUp());
    await expect(lookUp()).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 1 });
    const other = lookUp('b');
    release();
    await Promise.all([...running, other]);
    await expect(lookUp()).resolves.toBeUndefined();
  });

  it('counts failures of agent tokens for themselves', async () => {
    await throttle.recordFailure('agent_token', 'a');
    expect(charged).toEqual(['agent-token-failures 300/60 refuse true a']);
  });

  it('throws UnavailableError when a failure cannot be counted', async () => {
    refuse = new UnavailableError();
    await expect(throttle.recordFailure('api_key', 'a')).rejects.toBe(refuse);
    expect(() => throttle.assertNotBlocked('api_key', 'a')).not.toThrow();
  });
});
