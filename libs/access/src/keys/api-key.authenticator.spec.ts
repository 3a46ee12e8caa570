import { randomUUID } from 'node:crypto';
import type { ResolvedApiKey, ResolvedKey } from '@rmm/contracts';
import type { RateLimits } from '@rmm/rate-limits';
import { mintApiKey, mintPartnerKey } from '@rmm/secrets';
import { FixedClock } from '@rmm/testing-services';
import { fakeFeeds, fakeSources } from '../../test/fakes.js';
import type { AccessRequest, AccessResponse } from '../callers/access-request.js';
import { ApiKeyAuthenticator } from './api-key.authenticator.js';
import { FailedAuthenticationThrottle } from './failed-authentication-throttle.service.js';
import { KeyRecords } from './key-records.service.js';
import type { KeyUsage } from './key-usage.service.js';
import type { KeyWindow } from './key-window.service.js';

describe('ApiKeyAuthenticator', () => {
  const clock = new FixedClock();
  const keys = new Map<string, ResolvedKey>();
  let charged: string[];
  let read: string[];
  let lookUps: number;
  let authenticator: ApiKeyAuthenticator;

  beforeEach(() => {
    charged = [];
    read = [];
    lookUps = 0;
    const resolve = (hash: Buffer) => Promise.resolve((lookUps++, keys.get(hash.toString('hex')) ?? null));
    const charge = (bucket: string, limit: number) => {
      charged.push(bucket);
      return Promise.resolve({ allowed: true, limit, remaining: 1, resetAtSeconds: 1, retryAfterSeconds: 0 });
    };
    const readWindow = (bucket: string, limit: number) => {
      read.push(bucket);
      return Promise.resolve({ allowed: false, limit, remaining: 0, resetAtSeconds: 9, retryAfterSeconds: 9 });
    };
    authenticator = new ApiKeyAuthenticator(
      new KeyRecords(fakeSources({ keys: { resolve } }), fakeFeeds(clock), clock),
      new FailedAuthenticationThrottle({ hit: () => Promise.resolve() } as unknown as RateLimits, clock),
      { charge, read: readWindow } as unknown as KeyWindow,
      { count: () => undefined } as unknown as KeyUsage,
      clock,
    );
  });

  /** Creates an active key. @returns the raw key */
  function createKey(more: Partial<ResolvedApiKey> = {}): string {
    const { key, keyHash } = mintApiKey();
    keys.set(keyHash.toString('hex'), {
      kind: 'api_key',
      keyId: randomUUID(),
      orgId: 'o',
      partnerId: 'p',
      scopes: [],
      rateLimit: 10,
      expiresAt: null,
      expiresInMs: null,
      sourceCidrs: [],
      siteIds: null,
      deviceGroupIds: null,
      generation: 1,
      status: 'active',
      createdBy: 'u',
      principalId: null,
      ...more,
    });
    return key;
  }
  const authenticate = (key: string) => {
    const request = { headers: { 'x-api-key': key }, clientAddress: '203.0.113.9' } as unknown as AccessRequest;
    return authenticator.authenticateApiKey(request, { setHeader: () => undefined } as unknown as AccessResponse, []);
  };

  it('charges the keys of one service principal to one window, so that rotation does not empty it', async () => {
    await authenticate(createKey({ keyId: 'old', principalId: 'robot' }));
    await authenticate(createKey({ keyId: 'new', principalId: 'robot' }));
    await authenticate(createKey({ keyId: 'human' }));
    expect(charged).toEqual(['api-principal:robot', 'api-principal:robot', 'api:human']);
  });

  it('reads the window of a partner key without charging it, and allows an uncharged request when it is used up', async () => {
    const { key, keyPrefix, keyHash } = mintPartnerKey();
    keys.set(keyHash.toString('hex'), {
      kind: 'partner_key',
      keyId: 'k',
      keyName: 'First',
      keyPrefix,
      principalId: 'robot',
      principalName: 'Documentation',
      partnerId: 'p',
      scopes: [],
      rateLimit: 600,
      expiresAt: null,
      expiresInMs: null,
      sourceCidrs: [],
      generation: 1,
      status: 'active',
    });
    const headers: Record<string, unknown> = {};
    const response = { setHeader: (name: string, value: unknown) => (headers[name] = value) };
    const request = { headers: { 'x-api-key': key }, clientAddress: '203.0.113.9', method: 'GET' };
    const call = (uncharged: boolean) =>
      authenticator.authenticatePartnerKey(request as never, response as never, [], { uncharged });
    await call(false);
    expect(headers['X-RateLimit-Remaining']).toBe(1);
    expect((await call(true)).principalName).toBe('Documentation');
    expect([charged, read]).toEqual([['partner:robot:k'], ['partner:robot:k']]);
    expect(headers).toMatchObject({
      'X-RateLimit-Remaining': 0,
      RateLimit: expect.stringMatching(/^"reads";r=0;t=\d+$/),
    });
  });

  it('looks a repeated unknown key up once', async () => {
    const { key } = mintApiKey();
    for (let n = 0; n < 5; n++) await expect(authenticate(key)).rejects.toMatchObject({ code: 'invalid_api_key' });
    expect(lookUps).toBe(1);
  });

  it('looks up at most 300 unknown keys of an address at a time', async () => {
    const results = await Promise.allSettled(Array.from({ length: 400 }, () => authenticate(mintApiKey().key)));
    expect(lookUps).toBe(300);
    const codes = results.map((result) =>
      result.status === 'rejected' ? (result.reason as { code: string }).code : '',
    );
    expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(100);
  });
});
