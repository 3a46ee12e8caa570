import { Catch, UseFilters, type RpcExceptionFilter, type Type } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import { PATTERN_METADATA } from '@nestjs/microservices/constants.js';
import { throwError, type Observable } from 'rxjs';

/** Nest would turn every error of a message handler into "Internal server error": this one lets it through as it is. */
@Catch()
export class PassErrorsOn implements RpcExceptionFilter {
  catch(exception: unknown): Observable<never> {
    return throwError(() => exception);
  }
}

/**
 * Puts `@UseFilters(PassErrorsOn)` on every message handler of the application, so that controllers need not say it
 * and a handler's error reaches the delivery policy, or the caller of the RPC, with its class.
 */
export function passErrorsOn(discovery: DiscoveryService): void {
  const filter = new PassErrorsOn();
  for (const { metatype } of discovery.getControllers()) {
    if (!metatype) continue;
    const prototype = (metatype as Type<object>).prototype as object;
    for (const name of Object.getOwnPropertyNames(prototype)) {
      const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
      if (typeof descriptor?.value !== 'function') continue;
      if (!Reflect.hasMetadata(PATTERN_METADATA, descriptor.value as object)) continue;
      UseFilters(filter)(prototype, name, descriptor);
    }
  }
}
