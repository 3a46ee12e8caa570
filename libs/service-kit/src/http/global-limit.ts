import type { FleetConfig } from '../config/fleet-config.js';
import { clientBucket } from '../limits/client-bucket.js';
import type { RateLimitWindow } from '../limits/rate-limit.js';
import type { RateLimits } from '../limits/rate-limits.service.js';
import type { KitRequest } from './kit-request.js';
import { API_PREFIX } from './path-rules.js';

const EXEMPT = ['agents', 'partner-api', 'mcp', 'dev/push'].map((path) => `${API_PREFIX}/${path}`);
const CUSTOM_FIELDS = new RegExp(`^${API_PREFIX}/devices/[^/]+/custom-fields/?$`, 'i');

/** 300 a minute for an address, whatever it asks; agents and holders of keys have limits of their own. */
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

  /** Undefined when nothing is to be counted; else settles with the verdict. */
  count(request: KitRequest): Promise<void> | undefined {
    if (!this.enabled || isExempt(request)) return undefined;
    return this.limits.hit(this.limit, clientBucket({ address: request.clientAddress, headers: request.headers }));
  }
}

/** On custom fields a key that is presented wins over a token, so the call is the key's; without one it is a person's. */
function isExempt({ method, pathname, headers }: KitRequest): boolean {
  for (const prefix of EXEMPT) {
    if (pathname.startsWith(prefix) && (pathname.length === prefix.length || pathname[prefix.length] === '/'))
      return true;
  }
  return headers['x-api-key'] !== undefined && (method === 'GET' || method === 'PATCH') && CUSTOM_FIELDS.test(pathname);
}
