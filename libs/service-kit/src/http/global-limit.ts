import type { FleetConfig } from '../config/fleet-config.js';
import { clientBucket } from '../limits/client-bucket.js';
import type { RateLimitWindow } from '../limits/rate-limit.js';
import type { RateLimits } from '../limits/rate-limits.service.js';
import type { KitRequest } from './kit-request.js';
import { API_PREFIX } from './path-rules.js';

const EXEMPT = ['agents', 'partner-api', 'mcp', 'dev/push'].map((path) => `${API_PREFIX}/${path}`);
const CUSTOM_FIELDS = new RegExp(`^${API_PREFIX}/devices/[^/]+/custom-fields/?$`, 'i');

/** Limits the requests of an address; agents and callers with keys have other limits. @see docs/reference/rate-limits.md */
export class GlobalLimit {
  private readonly limit: RateLimitWindow;
  private readonly enabled: boolean;

  constructor(
    config: Pick<FleetConfig, 'rateLimitsEnabled' | 'globalRateLimitPerMinute'>,
    private readonly limits: RateLimits,
  ) {
    this.enabled = config.rateLimitsEnabled;
    this.limit = { name: 'global', limit: config.globalRateLimitPerMinute, windowSeconds: 60, onRedisDown: 'memory' };
  }

  /** Counts a request unless it is exempt; rejects when the limit is exceeded. */
  count(request: KitRequest): Promise<void> | undefined {
    if (!this.enabled || isExempt(request)) return undefined;
    return this.limits.hit(this.limit, clientBucket({ address: request.clientAddress, headers: request.headers }));
  }
}

/** On custom fields a key takes precedence over a token, so the call counts for the key; without one for the user. */
function isExempt({ method, pathname, headers }: KitRequest): boolean {
  for (const prefix of EXEMPT) {
    if (pathname.startsWith(prefix) && (pathname.length === prefix.length || pathname[prefix.length] === '/'))
      return true;
  }
  return headers['x-api-key'] !== undefined && (method === 'GET' || method === 'PATCH') && CUSTOM_FIELDS.test(pathname);
}
