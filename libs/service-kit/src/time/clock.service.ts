import { Injectable } from '@nestjs/common';

/** The clock of a service. Specs replace it with a `FixedClock`. */
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

/** A clock that stays at one time until it is moved. */
export class FixedClock extends Clock {
  private ms: number;
  private elapsedMs = 0;

  constructor(start: Date | string | number = '2026-01-01T00:00:00.000Z') {
    super();
    this.ms = new Date(start).getTime();
  }

  override nowMs(): number {
    return this.ms;
  }

  override monotonicMs(): number {
    return this.elapsedMs;
  }

  /** Sets the time of day, as an operator does; the monotonic clock stays. */
  set(to: Date | string | number): void {
    this.ms = new Date(to).getTime();
  }

  /** Lets time pass on both clocks. */
  advance(byMs: number): void {
    this.ms += byMs;
    this.elapsedMs += byMs;
  }
}
