import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { clientBucket, currentContext, RateLimits, type RateLimit } from '@rmm/service-kit';
import type { Request } from 'express';

const AGENT_ENROLL: RateLimit = {
  name: 'agent-enroll',
  limit: 10,
  windowSeconds: 60,
  onRedisDown: 'refuse',
  countRefused: true,
};

/** Against guessing keys: every attempt of an address counts, also a malformed one. @see CONTRACT.md 3 */
@Injectable()
export class EnrollmentLimitGuard implements CanActivate {
  constructor(private readonly limits: RateLimits) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { headers } = context.switchToHttp().getRequest<Request>();
    await this.limits.hit(AGENT_ENROLL, clientBucket({ address: currentContext()?.ipAddress, headers }));
    return true;
  }
}
