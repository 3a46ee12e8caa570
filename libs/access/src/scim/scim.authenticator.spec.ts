import type { RateLimits } from '@rmm/rate-limits';
import { mintScimToken } from '@rmm/secrets';
import { RateLimitedError } from '@rmm/service-kit';
import { FixedClock } from '@rmm/testing-services';
import type { AccessSources } from '../access-sources.service.js';
import type { AccessRequest } from '../callers/access-request.js';
import { FailedAuthenticationThrottle } from '../keys/failed-authentication-throttle.service.js';
import { ScimAuthenticator } from './scim.authenticator.js';

const { key: token, keyHash } = mintScimToken();

describe('ScimAuthenticator', () => {
  let failures: number;
  let lookUps: number;
  let tenantActive: boolean;
  let authenticator: ScimAuthenticator;

  beforeEach(() => {
    failures = lookUps = 0;
    tenantActive = true;
    const hit = () =>
      ++failures > 300 ? Promise.reject(new RateLimitedError(undefined, { retryAfterSeconds: 60 })) : Promise.resolve();
    const record = () => ({ tokenId: 't', providerId: 'i', partnerId: 'p', orgId: 'o', tenantActive });
    const scimTokens = {
      findByTokenHash: (hash: Buffer) => Promise.resolve((lookUps++, hash.equals(keyHash) ? record() : null)),
    };
    authenticator = new ScimAuthenticator(
      { scimTokens } as unknown as AccessSources,
      new FailedAuthenticationThrottle({ hit } as unknown as RateLimits, new FixedClock()),
    );
  });

  const authenticate = (bearer?: string, clientAddress = '203.0.113.9') => {
    const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
    return authenticator.authenticate({ headers, clientAddress } as unknown as AccessRequest);
  };

  it('returns the client of a token in its organization alone, and looks it up each time', async () => {
    expect(await authenticate(token)).toMatchObject({
      kind: 'scim',
      actor: { type: 'system', id: 't' },
      tenant: { scope: 'organization', partnerId: 'p', orgId: 'o', userId: null },
      providerId: 'i',
    });
    await authenticate(token);
    expect([lookUps, failures]).toEqual([2, 0]);
  });

  it.each([undefined, 'scim_short', 'svc_' + 'a'.repeat(32), mintScimToken().key])(
    'throws 401 for the token %s and counts it',
    async (bearer) => {
      await expect(authenticate(bearer)).rejects.toMatchObject({ status: 401, code: 'unauthenticated' });
      expect(failures).toBe(1);
    },
  );

  it('throws 403 while the tenant is not active', async () => {
    tenantActive = false;
    await expect(authenticate(token)).rejects.toMatchObject({ status: 403, code: 'tenant_inactive' });
    expect(failures).toBe(0);
  });

  it('looks nothing up for an address with more than 300 failures', async () => {
    for (let n = 0; n < 300; n++) await authenticate(mintScimToken().key).catch(() => undefined);
    await expect(authenticate(mintScimToken().key)).rejects.toMatchObject({ status: 429, code: 'rate_limited' });
    const before = lookUps;
    await expect(authenticate(token)).rejects.toMatchObject({ status: 429 });
    expect(lookUps).toBe(before);
    await expect(authenticate(token, '203.0.113.10')).resolves.toBeDefined();
  });
});
