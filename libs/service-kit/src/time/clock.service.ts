import { Injectable } from '@nestjs/common';

/** The clock of a service. Specs replace it with a `FixedClock` of `@rmm/testing-services`. */
@Injectable()
export class Clock {
  now(): Date {
    return new Date(this.nowMs());
  }

  /** Milliseconds since 1970. For times that are stored or compared with stored ones. */
  nowMs(): number {
    return Date.now();
  }

  /** Milliseconds of a clock that is never set: for time limits and lifetimes of cached values. */
  monotonicMs(): number {
    return performance.now();
  }
}
