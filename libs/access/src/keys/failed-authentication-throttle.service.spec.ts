import { FixedClock, RateLimitedError, type RateLimits, UnavailableError } from '@rmm/service-kit';
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

  it('throws UnavailableError when a failure cannot be counted', async () => {
    refuse = new UnavailableError();
    await expect(throttle.recordFailure('api_key', 'a')).rejects.toBe(refuse);
    expect(() => throttle.assertNotBlocked('api_key', 'a')).not.toThrow();
  });
});
