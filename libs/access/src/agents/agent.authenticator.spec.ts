import type { RateLimits } from '@rmm/rate-limits';
import { mintAgentToken } from '@rmm/secrets';
import { RateLimitedError } from '@rmm/service-kit';
import { FixedClock } from '@rmm/testing-services';
import type { AccessRequest } from '../callers/access-request.js';
import { FailedAuthenticationThrottle } from '../keys/failed-authentication-throttle.service.js';
import type { AgentRecords } from './agent-records.service.js';
import { AgentAuthenticator } from './agent.authenticator.js';

const { key: token, keyHash } = mintAgentToken();

describe('AgentAuthenticator', () => {
  let failures: number;
  let lookUps: number;
  let authenticator: AgentAuthenticator;

  beforeEach(() => {
    failures = lookUps = 0;
    const hit = () =>
      ++failures > 300 ? Promise.reject(new RateLimitedError(undefined, { retryAfterSeconds: 60 })) : Promise.resolve();
    const record = { agentId: 'a', deviceId: 'd', orgId: 'o', partnerId: 'p', siteId: null };
    const find = (hash: Buffer) => Promise.resolve((lookUps++, hash.equals(keyHash) ? record : null));
    authenticator = new AgentAuthenticator(
      { find } as unknown as AgentRecords,
      new FailedAuthenticationThrottle({ hit } as unknown as RateLimits, new FixedClock()),
    );
  });

  const authenticate = (bearer?: string, clientAddress = '203.0.113.9') => {
    const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
    return authenticator.authenticate({ headers, clientAddress } as unknown as AccessRequest);
  };

  it('returns the agent of a token without counting it', async () => {
    expect(await authenticate(token)).toMatchObject({ kind: 'agent', deviceId: 'd' });
    expect(failures).toBe(0);
  });

  it.each([undefined, 'agt_short', mintAgentToken().key])(
    'throws 401 for the token %s and counts it',
    async (bearer) => {
      await expect(authenticate(bearer)).rejects.toMatchObject({ status: 401, code: 'unauthenticated' });
      expect(failures).toBe(1);
    },
  );

  it('looks nothing up for an address with more than 300 failures', async () => {
    for (let n = 0; n < 300; n++) await authenticate(mintAgentToken().key).catch(() => undefined);
    await expect(authenticate(mintAgentToken().key)).rejects.toMatchObject({ status: 429, code: 'rate_limited' });
    const before = lookUps;
    await expect(authenticate(token)).rejects.toMatchObject({ status: 429 });
    expect(lookUps).toBe(before);
    await expect(authenticate(token, '203.0.113.10')).resolves.toBeDefined();
  });
});
