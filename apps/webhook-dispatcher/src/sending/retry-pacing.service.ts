import { Injectable } from '@nestjs/common';
import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { OutcomeWriterService } from './outcome-writer.service.js';
import { SenderService } from './sender.service.js';

/** Short, since retries that start together delay everything else together. */
const TICK_MS = 10;
const TICKS_PER_SECOND = 1_000 / TICK_MS;
/** Ticks between two adjustments of the rate. */
const ADJUST_EVERY = 5;
/** Utilization of the event loop above which the rate is lowered. */
const MAX_UTILIZATION = 0.6;
/** Unwritten outcomes above which the database counts as busy. */
const MAX_UNWRITTEN = 1_000;
/** Retries per second: the lower limit, the rate after a time without retries, the upper limit. */
const MIN_RATE = 500;
const INITIAL_RATE = 2_000;
const MAX_RATE = 20_000;
const DECREASE = 0.8;
const INCREASE = 1.1;

/**
 * Returns the next rate of retries per second. It rises only while it is used, so a burst after a quiet hour starts at
 * the initial rate.
 * @param perSecond  the current rate
 * @param started  retries started since the last call, per second
 */
export function nextRate(perSecond: number, started: number, isBusy: boolean): number {
  if (started === 0) return INITIAL_RATE;
  if (isBusy) return Math.max(MIN_RATE, Math.min(perSecond, started) * DECREASE);
  if (started < perSecond / 2) return Math.max(INITIAL_RATE, perSecond * DECREASE);
  return Math.min(MAX_RATE, perSecond * INCREASE);
}

/**
 * Limits retries per second adaptively. Lowers the rate while the event loop or the database is busy, so that new events
 * keep priority over bursts of retries.
 */
@Injectable()
export class RetryPacingService {
  private timer: NodeJS.Timeout | undefined;
  private perSecond = INITIAL_RATE;
  private started = 0;
  private ticks = 0;
  private used: EventLoopUtilization | undefined;

  constructor(
    private readonly sender: SenderService,
    private readonly outcomes: OutcomeWriterService,
  ) {}

  start(): void {
    this.timer = setInterval(() => this.tick(), TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private tick(): void {
    this.ticks += 1;
    if (this.ticks % ADJUST_EVERY === 0) this.adjustRate();
    this.sender.allowRetries(this.perSecond / TICKS_PER_SECOND);
  }

  private adjustRate(): void {
    const used = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(used, this.used);
    this.used = used;
    const started = ((this.sender.startedRetries - this.started) * TICKS_PER_SECOND) / ADJUST_EVERY;
    this.started = this.sender.startedRetries;
    const isBusy = utilization > MAX_UTILIZATION || this.outcomes.backlog > MAX_UNWRITTEN;
    this.perSecond = nextRate(this.perSecond, started, isBusy);
  }
}
