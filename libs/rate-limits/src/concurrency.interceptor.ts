import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { type ConcurrencyLimit, ConcurrencyLimits } from './concurrency-limits.service.js';
import type { LimitedRequest } from './limited-request.types.js';

/** Returns the id that is counted: of a partner, of a user. */
export type ConcurrencyKey = (request: LimitedRequest) => string;

export interface RouteConcurrency {
  readonly limit: ConcurrencyLimit;
  readonly key: ConcurrencyKey;
}

const ROUTE_CONCURRENCY = Symbol('ROUTE_CONCURRENCY');

export const setRouteConcurrency = (handler: object, concurrency: RouteConcurrency): void =>
  Reflect.defineMetadata(ROUTE_CONCURRENCY, concurrency, handler);

/** Runs a route within its limit. A body of `json-later` is parsed once the request has its slot. */
@Injectable()
export class ConcurrencyInterceptor implements NestInterceptor {
  constructor(private readonly limits: ConcurrencyLimits) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<LimitedRequest>();
    const { limit, key } = Reflect.getMetadata(ROUTE_CONCURRENCY, context.getHandler()) as RouteConcurrency;
    const work = () => {
      request.parseBody?.();
      return lastValueFrom(next.handle(), { defaultValue: undefined });
    };
    return from(this.limits.run(limit, key(request), work));
  }
}
