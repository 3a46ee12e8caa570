import type { Provider, Type } from '@nestjs/common';

/** What a feature folder adds to the service: the one place where its classes are listed. */
export interface Feature {
  controllers: Type[];
  providers: Provider[];
}
