import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { Injectable } from '@nestjs/common';
import { OutcomeWriterService } from './outcome-writer.service.js';
import { SenderService } from './sender.service.js';

/** Little at a time: what begins at once also keeps everything else waiting at once. */
const TICK_MS = 10;
const TICKS_PER_SECOND = 1_000 / TICK_MS;
/** Every how many ticks the number is judged. */
const JUDGE_EVERY = 5;
/** Of its time this process may spend at work while retries go on as they like. */
const BUSY = 0.6;
/** So many unwritten outcomes mean that the database is busy. */
const BACKLOG = 1_000;
/** Retries a second that are always let through, with which a calm process begins, and that are never exceeded. */
const SLOWEST = 500;
const CALM = 2_000;
const FASTEST = 20_000;
const SLOWER = 0.8;
const QUICKER = 1.1;

/**
 * The next number of retries a second. It rises only while it is used: what falls due at once after a calm hour meets no
 * higher number than at the start.
 * @param perSecond  the last one
 * @param begun  retries begun since, a second
 */
export function nextPace(perSecond: number, begun: number, isPressed: boolean): number {
  if (begun === 0) return CALM;
  if (isPressed) return Math.max(SLOWEST, Math.min(perSecond, begun) * SLOWER);
  if (begun < perSecond / 2) return Math.max(CALM, perSecond * SLOWER);
  return Math.min(FASTEST, perSecond * QUICKER);
}

/**
 * Keeps a storm of retries from taking the processor and the database away from new events. Retries have waited already
 * and may wait a little more: while this process, or the database behind it, is busy, fewer of them begin.
 */
@Injectable()
export class RetryPacingService {
  private timer: NodeJS.Timeout | undefined;
  private perSecond = CALM;
  private begun = 0;
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
    if (this.ticks % JUDGE_EVERY === 0) this.judge();
    this.sender.allowRetries(this.perSecond / TICKS_PER_SECOND);
  }

  private judge(): void {
    const used = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(used, this.used);
    this.used = used;
    const begun = ((this.sender.begunRetries - this.begun) * TICKS_PER_SECOND) / JUDGE_EVERY;
    this.begun = this.sender.begunRetries;
    const isPressed = utilization > BUSY || this.outcomes.backlog > BACKLOG;
    this.perSecond = nextPace(this.perSecond, begun, isPressed);
  }
}
