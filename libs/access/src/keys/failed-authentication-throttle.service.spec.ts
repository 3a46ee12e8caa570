import { FixedClock, RateLimitedError, UnavailableError } from '@rmm/service-kit';
import { KeyRateLimited } from '../access.errors.js';
import { FailedAuthenticationThrottle } from './failed-authentication-throttle.service.js';

let clock: FixedClock;
let charged: string[];
let refuse: Error | null;
let probes: FailedAuthenticationThrottle;

beforeEach(() => {
  clock = new FixedClock();
  charged = [];
  refuse = null;
  const hit = ({ name, limit, windowSeconds, onRedisDown, countRefused }: Parameters<Hit>[0], bucket: string) => {
    charged.push(`${name} ${limit}/${windowSeconds} ${onRedisDown} ${countRefused} ${bucket}`);
    return refuse ? Promise.reject(refuse) : Promise.resolve();
  };
  probes = new FailedAuthenticationThrottle({ hit }, clock);
});

type Hit = ConstructorParameters<typeof FailedAuthenticationThrottle>[0]['hit'];

describe('probing for keys', () => {
  it('is charged per address, failing closed, refused attempts included', async () => {
    await probes.failed('api_key', '203.0.113.9');
    await probes.failed('partner_key', '203.0.113.9');
    expect(charged).toEqual([
      'api-key-probe 300/60 refuse true 203.0.113.9',
      'partner-key-probe 300/60 refuse true 203.0.113.9',
    ]);
  });

  it('over the limit is refused from memory until the window opens', async () => {
    refuse = new RateLimitedError(undefined, { retryAfterSeconds: 60 });
    await expect(probes.failed('api_key', 'a')).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 60 });
    clock.advance(15_000);
    expect(() => probes.assertOpen('api_key', 'a')).toThrow(KeyRateLimited);
    expect(() => probes.assertOpen('api_key', 'b')).not.toThrow();
    expect(() => probes.assertOpen('partner_key', 'a')).not.toThrow();
    expect(charged).toHaveLength(1);
    clock.advance(45_000);
    expect(() => probes.assertOpen('api_key', 'a')).not.toThrow();
  });

  it('answers in the words of the partner interface there', async () => {
    refuse = new RateLimitedError(undefined, { retryAfterSeconds: 5 });
    await expect(probes.failed('partner_key', 'a')).rejects.toMatchObject({ code: 'partner_api_auth_rate_limited' });
  });

  it('that cannot be counted is 503', async () => {
    refuse = new UnavailableError();
    await expect(probes.failed('api_key', 'a')).rejects.toBe(refuse);
    expect(() => probes.assertOpen('api_key', 'a')).not.toThrow();
  });
});
