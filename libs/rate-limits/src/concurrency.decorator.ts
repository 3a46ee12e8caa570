import { UseInterceptors } from '@nestjs/common';
import type { ConcurrencyLimit } from './concurrency-limits.service.js';
import { ConcurrencyInterceptor, type ConcurrencyKey, setRouteConcurrency } from './concurrency.interceptor.js';

/**
 * Limits how many requests of a key run at the same time: 429 at once beyond it, after the access checks and before
 * validation. With the body rule `json-later` a refused request is not even parsed.
 */
export function LimitConcurrency(limit: ConcurrencyLimit, key: ConcurrencyKey): MethodDecorator {
  return (target, property, descriptor) => {
    setRouteConcurrency(descriptor.value as object, { limit, key });
    UseInterceptors(ConcurrencyInterceptor)(target, property, descriptor);
  };
}
