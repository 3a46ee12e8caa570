import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { InternalError } from '@rmm/errors';
import { clientBucket } from './client-bucket.js';
import type { LimitedRequest } from './limited-request.types.js';
import type { RateLimitWindow } from './rate-limits.config.js';
import { RateLimits } from './rate-limits.service.js';

/** The key of a route limit: the address bucket of the client, the id of the signed-in user, or any text of the request. */
export type RateLimitKey = 'client' | 'user' | ((request: LimitedRequest) => string);

export interface RouteLimit {
  readonly limit: RateLimitWindow;
  readonly key: RateLimitKey;
}

const ROUTE_LIMITS = Symbol('ROUTE_LIMITS');
const NONE: readonly RouteLimit[] = [];

/** Returns the limits that `@RateLimit` declared on a route handler. */
export const routeLimits = (handler: object): readonly RouteLimit[] =>
  (Reflect.getMetadata(ROUTE_LIMITS, handler) as readonly RouteLimit[] | undefined) ?? NONE;

export const setRouteLimits = (handler: object, limits: readonly RouteLimit[]): void =>
  Reflect.defineMetadata(ROUTE_LIMITS, limits, handler);

/** Checks the limits of a route that count by its caller. Bound to the route, so it runs after the access guard. */
@Injectable()
export class CallerRateLimitGuard implements CanActivate {
  constructor(private readonly limits: RateLimits) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const limits = routeLimits(context.getHandler()).filter(({ key }) => this.applies(key));
    return limits.length === 0 || this.hitAll(limits, context.switchToHttp().getRequest<LimitedRequest>());
  }

  protected applies(key: RateLimitKey): boolean {
    return key !== 'client';
  }

  private async hitAll(limits: readonly RouteLimit[], request: LimitedRequest): Promise<boolean> {
    for (const { limit, key } of limits) await this.limits.hit(limit, keyOf(request, key));
    return true;
  }
}

/** Checks the `client` limits of a route. Global, and registered before the access guard. */
@Injectable()
export class ClientRateLimitGuard extends CallerRateLimitGuard {
  protected override applies(key: RateLimitKey): boolean {
    return key === 'client';
  }
}

function keyOf(request: LimitedRequest, key: RateLimitKey): string {
  if (typeof key === 'function') return key(request);
  if (key === 'client') return clientBucket({ address: request.clientAddress, headers: request.headers });
  const userId = request.caller?.userId;
  if (userId === undefined) throw new InternalError(undefined, { logDetails: { reason: 'user limit without a user' } });
  return userId;
}
