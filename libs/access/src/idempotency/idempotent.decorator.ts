import { UseInterceptors } from '@nestjs/common';
import { ForwardIdempotencyInterceptor } from './forward-idempotency.interceptor.js';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';

/**
 * Supports `Idempotency-Key` and `X-Idempotency-Key` on a route. The service runs its effect in
 * `idempotency.once(tx, work)`; the route has one success status.
 */
export const Idempotent = (): MethodDecorator => UseInterceptors(IdempotencyInterceptor);

/**
 * Supports the same headers on a route whose effect another service stores. The handler sends `forwardedIdempotency()` with
 * its request, and the owner of the effect runs it in `runForwarded`.
 */
export const IdempotentAtOwner = (): MethodDecorator => UseInterceptors(ForwardIdempotencyInterceptor);
