import { Injectable } from '@nestjs/common';

/** The clock of a service. Specs replace it with a `FixedClock`. */
@Injectable()
export class Clock {
  now(): Date {
    return new Date(this.nowMs());
  }

  /** Milliseconds since 1970. */
  nowMs(): number {
    return Date.now();
  }
}

/** A clock that stays at one time until it is moved. */
export class FixedClock extends Clock {
  private ms: number;

  constructor(start: Date | string | number = '2026-01-01T00:00:00.000Z') {
    super();
    this.ms = new Date(start).getTime();
  }

  override nowMs(): number {
    return this.ms;
  }

  set(to: Date | string | number): void {
    this.ms = new Date(to).getTime();
  }

  advance(byMs: number): void {
    this.ms += byMs;
  }
}
