/** A `Clock` of `@rmm/service-kit` that stays at one time until it is moved. */
export class FixedClock {
  private ms: number;
  private elapsedMs = 0;

  constructor(start: Date | string | number = '2026-01-01T00:00:00.000Z') {
    this.ms = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.ms);
  }

  nowMs(): number {
    return this.ms;
  }

  monotonicMs(): number {
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
