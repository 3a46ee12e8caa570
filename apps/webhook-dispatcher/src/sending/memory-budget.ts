/** Seconds of its own throughput that a webhook may keep in memory. */
const SECONDS = 2;
/** The rows that a webhook may always keep, and while its breaker is open or it is paused. */
const MIN_ROWS = 50;
const CLOSED_ROWS = 5;
const MAX_ROWS = 4_000;
/** Bytes that a webhook may keep; more when a single delivery is larger. */
const MAX_BYTES = 1_048_576;
/** The sums beyond which the minimum of each webhook shrinks, so that many webhooks together stay bounded. */
const SUM_ROWS = 40_000;
const SUM_BYTES = 96 * 1_048_576;
const MIN_BYTES = 65_536;
/** Smooths the measured throughput. */
const DECAY = 0.5;

export interface Room {
  maxRows: number;
  /** More rows that fit. */
  rows: number;
  /** More bytes that fit; without any row in memory one is admitted whatever its size. */
  bytes: number;
}

interface Share {
  rows: number;
  bytes: number;
  ended: number;
  perSecond: number;
  isClosed: boolean;
}

/**
 * Limits what each webhook keeps in memory by its own throughput. The total is the sum of these shares: no number of
 * receivers that do not respond takes the share of another.
 */
export class MemoryBudget {
  private readonly shares = new Map<string, Share>();
  private rows = 0;
  private bytes = 0;

  /** The deliveries in memory. */
  get size(): number {
    return this.rows;
  }

  get sizeInBytes(): number {
    return this.bytes;
  }

  /** Returns what a webhook may have in memory, and how much more. */
  room(webhookId: string): Room {
    const share = this.shares.get(webhookId);
    const maxBytes = Math.max(MIN_BYTES, Math.min(MAX_BYTES, Math.floor(SUM_BYTES / (this.shares.size + 1))));
    if (!share) return { maxRows: this.minRows, rows: this.minRows, bytes: maxBytes };
    const perRate = Math.min(MAX_ROWS, Math.ceil(share.perSecond * SECONDS));
    const maxRows = share.isClosed ? CLOSED_ROWS : Math.max(this.minRows, perRate);
    return { maxRows, rows: Math.max(0, maxRows - share.rows), bytes: Math.max(0, maxBytes - share.bytes) };
  }

  /** Returns true when a delivery fits; one always does. */
  fits(webhookId: string, bytes: number): boolean {
    const share = this.shares.get(webhookId);
    if (!share || share.rows === 0) return true;
    const room = this.room(webhookId);
    return room.rows > 0 && room.bytes >= bytes;
  }

  add(webhookId: string, bytes: number): void {
    let share = this.shares.get(webhookId);
    if (!share) this.shares.set(webhookId, (share = { rows: 0, bytes: 0, ended: 0, perSecond: 0, isClosed: false }));
    share.rows += 1;
    share.bytes += bytes;
    this.rows += 1;
    this.bytes += bytes;
  }

  /** @param hasEnded  false for a delivery that left memory without an attempt */
  remove(webhookId: string, bytes: number, hasEnded: boolean): void {
    const share = this.shares.get(webhookId);
    if (!share) return;
    share.rows -= 1;
    share.bytes -= bytes;
    if (hasEnded) share.ended += 1;
    this.rows -= 1;
    this.bytes -= bytes;
  }

  /** Sets whether a webhook keeps a handful only: its breaker is open. */
  setClosed(webhookId: string, isClosed: boolean): void {
    const share = this.shares.get(webhookId);
    if (share) share.isClosed = isClosed;
  }

  /** Measures the throughput; called once a second. */
  measure(): void {
    for (const [webhookId, share] of this.shares) {
      share.perSecond = Math.max(share.ended, share.perSecond * DECAY);
      share.ended = 0;
      if (share.rows === 0 && share.perSecond < 1 && !share.isClosed) this.shares.delete(webhookId);
    }
  }

  private get minRows(): number {
    return Math.max(CLOSED_ROWS, Math.min(MIN_ROWS, Math.floor(SUM_ROWS / (this.shares.size + 1))));
  }
}
