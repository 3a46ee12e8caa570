import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { InternalError } from '../errors/errors.js';
import type { AuthenticatedRequest } from '../http/kit-request.js';
import { clientBucket } from './client-bucket.js';
import { type RouteLimit, routeLimits } from './rate-limit.js';
import { RateLimits } from './rate-limits.service.js';

/** Checks the `client` limits of a route. Global, and registered before the access guard. */
@Injectable()
export class ClientRateLimitGuard implements CanActivate {
  constructor(private readonly limits: RateLimits) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const limits = routeLimits(context.getHandler());
    return (
      limits.length === 0 ||
      hitAll(
        this.limits,
        context,
        limits.filter(({ key }) => key === 'client'),
      )
    );
  }
}

/** Checks the limits of a route that count by its caller. Bound to the route, so it runs after the access guard. */
@Injectable()
export class CallerRateLimitGuard implements CanActivate {
  constructor(private readonly limits: RateLimits) {}

  canActivate(context: ExecutionContext): Promise<boolean> {
    const limits = routeLimits(context.getHandler());
    return hitAll(
      this.limits,
      context,
      limits.filter(({ key }) => key !== 'client'),
    );
  }
}

async function hitAll(
  limits: RateLimits,
  context: ExecutionContext,
  routeLimits: readonly RouteLimit[],
): Promise<boolean> {
  const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
  for (const { limit, key } of routeLimits) await limits.hit(limit, keyOf(request, key));
  return true;
}

function keyOf(request: AuthenticatedRequest, key: RouteLimit['key']): string {
  if (typeof key === 'function') return key(request);
  if (key === 'client') return clientBucket({ address: request.clientAddress, headers: request.headers });
  const userId = request.caller?.userId;
  if (userId === undefined) throw new InternalError(undefined, { logDetails: { reason: 'user limit without a user' } });
  return userId;
}
