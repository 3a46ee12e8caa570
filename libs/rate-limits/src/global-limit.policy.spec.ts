import { GlobalLimit } from './global-limit.policy.js';
import type { LimitedRequest } from './limited-request.types.js';
import type { RateLimits } from './rate-limits.service.js';

describe('GlobalLimit', () => {
  const hit = jest.fn<Promise<void>, Parameters<RateLimits['hit']>>().mockResolvedValue(undefined);
  const limit = new GlobalLimit({ globalRateLimitPerMinute: 300 }, { hit } as unknown as RateLimits);
  const count = (pathname: string, changes: Partial<LimitedRequest> = {}) =>
    limit.count({ method: 'GET', pathname, headers: {}, clientAddress: '198.51.100.7', ...changes } as LimitedRequest);

  beforeEach(() => hit.mockClear());

  it('counts a request by its address in a window of a minute', async () => {
    await count('/api/v1/orgs');
    const window = { name: 'global', limit: 300, windowSeconds: 60, onRedisDown: 'memory' };
    expect(hit.mock.calls).toEqual([[window, '198.51.100.7']]);
  });

  it('counts addresses of one IPv6 network together', async () => {
    await count('/api/v1/orgs', { clientAddress: '2001:db8:1:2::9' });
    expect(hit.mock.calls[0][1]).toBe('2001:db8:1:2::/64');
  });

  it.each([
    '/api/v1/agents',
    '/api/v1/agents/enroll',
    '/api/v1/partner-api/v1/orgs',
    '/api/v1/mcp',
    '/api/v1/dev/push',
  ])('exempts %s', async (pathname) => {
    await count(pathname);
    expect(hit).not.toHaveBeenCalled();
  });

  it.each(['/api/v1/agentsx', '/api/v1/orgs/agents', '/agents', '/api/v1/development'])(
    'counts %s',
    async (pathname) => {
      await count(pathname);
      expect(hit).toHaveBeenCalledTimes(1);
    },
  );

  it('exempts reading and changing custom fields with an API key only', async () => {
    const withKey = { headers: { 'x-api-key': 'k' } };
    const path = '/api/v1/devices/1/custom-fields';
    await count(path, withKey);
    await count(path, { ...withKey, method: 'PATCH' });
    expect(hit).not.toHaveBeenCalled();
    await count(path, { ...withKey, method: 'DELETE' });
    await count(path);
    await count(`${path}/more`, withKey);
    expect(hit).toHaveBeenCalledTimes(3);
  });
});
