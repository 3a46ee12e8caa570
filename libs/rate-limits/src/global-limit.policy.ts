import { Inject, Injectable } from '@nestjs/common';
import { API_PREFIX } from '@rmm/contracts';
import { clientBucket } from './client-bucket.js';
import type { LimitedRequest } from './limited-request.types.js';
import type { RateLimitsConfig, RateLimitWindow } from './rate-limits.config.js';
import { RateLimits } from './rate-limits.service.js';
import { RATE_LIMITS_CONFIG } from './tokens.js';

const EXEMPT = new RegExp(`^${API_PREFIX}/(?:agents|partner-api|mcp|scim|dev/push)(?:/|$)`);
const CUSTOM_FIELDS = new RegExp(`^${API_PREFIX}/devices/[^/]+/custom-fields/?$`, 'i');

/** Limits the requests of an address; agents and callers with keys or SCIM tokens have other limits. @see docs/reference/rate-limits.md */
@Injectable()
export class GlobalLimit {
  private readonly limit: RateLimitWindow;

  constructor(
    @Inject(RATE_LIMITS_CONFIG) { globalRateLimitPerMinute: limit }: Pick<RateLimitsConfig, 'globalRateLimitPerMinute'>,
    private readonly limits: RateLimits,
  ) {
    this.limit = { name: 'global', limit, windowSeconds: 60, onRedisDown: 'memory' };
  }

  /** @throws RateLimitedError  unless the request is exempt */
  count(request: LimitedRequest): Promise<void> | undefined {
    if (isExempt(request)) return undefined;
    return this.limits.hit(this.limit, clientBucket({ address: request.clientAddress, headers: request.headers }));
  }
}

/** On custom fields a key takes precedence over a token, so the call counts for the key; without one for the user. */
function isExempt({ method, pathname, headers }: LimitedRequest): boolean {
  if (EXEMPT.test(pathname)) return true;
  return headers['x-api-key'] !== undefined && (method === 'GET' || method === 'PATCH') && CUSTOM_FIELDS.test(pathname);
}
