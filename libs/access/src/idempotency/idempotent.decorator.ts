import { UseInterceptors } from '@nestjs/common';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';

/**
 * Supports `Idempotency-Key` and `X-Idempotency-Key` on a route. The service runs its effect in
 * `idempotency.once(tx, work)`; the route has one success status.
 */
export const Idempotent = (): MethodDecorator => UseInterceptors(IdempotencyInterceptor);
