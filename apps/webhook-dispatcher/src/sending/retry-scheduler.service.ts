import { Injectable } from '@nestjs/common';
import { AsyncResource } from 'node:async_hooks';
import { Logger } from '@rmm/service-kit';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { partitionOf } from '../replicas/partition-of.js';
import { ReplicaSignalsService } from '../replicas/replica-signals.service.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import { ownerOf, type Webhook } from '../webhooks/webhook.entity.js';
import {
  type DueRows,
  OpenDeliveriesRepository,
  type OpenWebhook,
  type WantedRows,
} from './open-deliveries.repository.js';
import type { QueuedDelivery } from './queued-delivery.js';
import { SenderService, type WaitingReason } from './sender.service.js';

const TICK_MS = 50;
/** Time between two searches for deliveries whose signal was lost. */
const SEARCH_MS = 30_000;
/** Webhooks, rows and bytes of one read. */
const READ_WEBHOOKS = 50;
const READ_ROWS = 500;
const READ_BYTES = 8 * 1_048_576;
/** The pause before a webhook without room is read again. */
const NO_ROOM_MS = 100;

/** A webhook with deliveries in the table that are not in memory. */
interface WaitingWebhook {
  /** @see ownerOf */
  readonly orgId: string;
  /** When the first of them is due, by `performance.now()`. */
  dueMs: number;
  /** Counts what was recorded, to recognize what is stored while the table is read. */
  changes: number;
  /** The room in which its first due delivery did not fit; it is read again when there is more. */
  tooFewBytes?: number;
}

interface Wanted extends WantedRows {
  changes: number;
}

/**
 * Brings deliveries that wait in the table into memory when they are due and their webhook has room: long retries, what
 * a webhook could not send quickly enough, requests of users, and everything of partitions that were acquired.
 */
@Injectable()
export class RetrySchedulerService {
  /** In the order in which they are read next. */
  private readonly waiting = new Map<string, WaitingWebhook>();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private searchAtMs = 0;
  private mustSearch = false;
  /** Partitions whose backlog and pauses are not known yet, and those of them that a search in progress covers. */
  private acquired = new Set<number>();
  private searched: ReadonlySet<number> = new Set();
  private isStopped = false;
  /** Runs in the context in which this service is created: a request that calls it is of one tenant, and ends before. */
  private readonly run = AsyncResource.bind((): void => {
    if (this.running || this.isStopped) return;
    this.running = this.readAll()
      .catch((err: unknown) => this.logger.warn({ err }, 'Reading due deliveries failed; it is repeated in a second'))
      .finally(() => {
        this.running = undefined;
      });
  });

  constructor(
    private readonly repository: OpenDeliveriesRepository,
    private readonly sender: SenderService,
    private readonly leases: PartitionLeaseManagerService,
    private readonly signals: ReplicaSignalsService,
    private readonly index: SubscriptionIndexService,
    private readonly logger: Logger,
    metrics: DispatcherMetrics,
  ) {
    metrics.observeWaiting(() => this.countWaiting());
  }

  start(): void {
    this.timer = setInterval(() => this.run(), TICK_MS).unref();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    clearInterval(this.timer);
    await this.running;
  }

  /** Counts the webhooks with due deliveries in the table by reason, and how long the oldest that may be sent is due. */
  private countWaiting(): { webhooks: Record<WaitingReason, number>; oldestSeconds: number } {
    const webhooks = { breaker: 0, limit: 0, paused: 0, tenant: 0 };
    const now = performance.now();
    let oldestMs = now;
    for (const [webhookId, { dueMs }] of this.waiting) {
      if (dueMs > now) continue;
      const reason = this.sender.waitingReason(webhookId);
      webhooks[reason] += 1;
      if (reason === 'limit') oldestMs = Math.min(oldestMs, dueMs);
    }
    return { webhooks, oldestSeconds: (now - oldestMs) / 1_000 };
  }

  /**
   * Returns whether a new delivery has to wait in the table: due ones of its webhook wait there, or may, since its partition
   * was acquired just now; its receiver may also have asked the former owner for a pause.
   */
  mustWait({ webhookId, partition }: Pick<QueuedDelivery, 'webhookId' | 'partition'>): boolean {
    return this.isUnsearched(partition) || this.hasDue(webhookId);
  }

  /** Returns whether due deliveries of a webhook wait in the table. */
  hasDue(webhookId: string): boolean {
    const waiting = this.waiting.get(webhookId);
    return waiting !== undefined && waiting.dueMs <= performance.now();
  }

  /** Records that a delivery of a webhook waits in the table, or has its owner look when another replica has its partition. */
  addWaiting(webhookId: string, orgId: string, dueInMs: number): void {
    if (!this.leases.owns(partitionOf(orgId))) return this.signals.publishDeliveriesDue(webhookId);
    const dueMs = performance.now() + dueInMs;
    const known = this.waiting.get(webhookId);
    if (!known) this.waiting.set(webhookId, { orgId, dueMs, changes: 1 });
    else {
      known.changes += 1;
      known.dueMs = Math.min(known.dueMs, dueMs);
    }
  }

  /** Has deliveries that a request stored or brought forward sent at once, by this or another replica. */
  notifyDue(webhook: Pick<Webhook, 'id' | 'partnerId' | 'orgId'>): void {
    const owner = ownerOf(webhook);
    if (this.leases.owns(partitionOf(owner))) this.wake(webhook.id, owner);
    else this.signals.publishDeliveriesDue(webhook.id);
  }

  /** Reads the due deliveries of a webhook again, retries that wait in memory included. */
  wake(webhookId: string, orgId: string): void {
    this.sender.dropRetries(webhookId);
    this.addWaiting(webhookId, orgId, 0);
    delete this.waiting.get(webhookId)?.tooFewBytes; // what is due first may be another delivery
    this.run();
  }

  /** Sends nothing of new partitions until their open deliveries and pauses are found. */
  acquire(partitions: ReadonlySet<number>): void {
    for (const partition of partitions) this.acquired.add(partition);
    this.search();
  }

  /** Finds the open deliveries of all partitions of this replica. */
  search(): void {
    this.mustSearch = true;
    this.run();
  }

  /** Forgets the webhooks of partitions that another replica owns. */
  drop(partitions: ReadonlySet<number>): void {
    for (const [webhookId, { orgId }] of this.waiting) {
      if (partitions.has(partitionOf(orgId))) this.waiting.delete(webhookId);
    }
    for (const partition of partitions) this.acquired.delete(partition);
  }

  private isUnsearched(partition: number): boolean {
    if (this.acquired.size === 0 && this.searched.size === 0) return false;
    return this.acquired.has(partition) || this.searched.has(partition);
  }

  private async readAll(): Promise<void> {
    if (this.mustSearch || performance.now() >= this.searchAtMs) await this.findOpen();
    if (!this.leases.canSend) return;
    for (let wanted = this.nextWanted(); this.mayRead(wanted); wanted = this.nextWanted()) {
      const startedMs = performance.now();
      // A webhook that was created or changed just now is sent with its current settings.
      await this.index.refresh();
      const known = wanted.flatMap(({ webhookId }) => this.sender.listKnown(webhookId));
      const read = await this.repository.readDue(wanted, known);
      const asked = new Map(wanted.map((one) => [one.webhookId, one]));
      for (const due of read) this.accept(due, asked.get(due.webhookId) as Wanted, startedMs);
    }
  }

  /** Returns whether to read the next rows: the search for partitions that were acquired meanwhile comes first. */
  private mayRead(wanted: readonly Wanted[]): boolean {
    return wanted.length > 0 && !this.isStopped && this.acquired.size === 0;
  }

  private async findOpen(): Promise<void> {
    this.mustSearch = false;
    this.searchAtMs = performance.now() + 1_000;
    this.searched = this.acquired;
    this.acquired = new Set();
    try {
      const open = await this.repository.listOpen((orgId) => this.leases.owns(partitionOf(orgId)));
      for (const webhook of open) this.addOpen(webhook);
    } catch (err) {
      this.acquired = new Set([...this.searched, ...this.acquired]);
      throw err;
    } finally {
      this.searched = new Set();
    }
    this.searchAtMs = performance.now() + SEARCH_MS;
  }

  private addOpen({ webhookId, orgId, dueMs, pauseMs }: OpenWebhook): void {
    // Later pauses are those of this replica itself.
    if (pauseMs > 0 && this.searched.has(partitionOf(orgId))) this.sender.pause(webhookId, pauseMs);
    if (dueMs !== null) this.addWaiting(webhookId, orgId, dueMs);
  }

  /** Returns the next webhooks with due deliveries and room for at least half of what they may have in memory. */
  private nextWanted(): Wanted[] {
    const wanted: Wanted[] = [];
    const now = performance.now();
    let rowsLeft = READ_ROWS;
    let bytesLeft = READ_BYTES;
    for (const [webhookId, { dueMs, changes, tooFewBytes = -1 }] of this.waiting) {
      if (dueMs > now) continue;
      const { maxRows, rows, bytes } = this.sender.room(webhookId);
      const isEmpty = rows === maxRows;
      if (rows === 0 || rows < maxRows / 2 || (bytes <= tooFewBytes && !isEmpty)) continue;
      if (wanted.length > 0 && bytes > bytesLeft) break;
      const part = { webhookId, rows: Math.min(rows, rowsLeft), bytes, isEmpty, changes };
      wanted.push(part);
      rowsLeft -= part.rows;
      bytesLeft -= part.bytes;
      if (wanted.length === READ_WEBHOOKS || rowsLeft <= 0 || bytesLeft <= 0) break;
    }
    return wanted;
  }

  /** Queues what was read; the webhook goes to the end of the order, or out of it when nothing is left. */
  private accept({ webhookId, deliveries, dueCount, nextDueMs }: DueRows, asked: Wanted, startedMs: number): void {
    const known = this.waiting.get(webhookId);
    if (!known || !this.leases.owns(partitionOf(known.orgId))) return;
    const queued = deliveries.filter((delivery) => this.sender.add(delivery)).length;
    this.waiting.delete(webhookId);
    known.tooFewBytes = dueCount > 0 && deliveries.length === 0 ? asked.bytes : undefined;
    const isDrained = dueCount < asked.rows && queued === dueCount;
    if (!isDrained || known.changes !== asked.changes) {
      this.waiting.set(webhookId, known);
      if (queued === 0 && dueCount > 0) known.dueMs = performance.now() + NO_ROOM_MS;
    } else if (nextDueMs !== null) {
      this.waiting.set(webhookId, { ...known, dueMs: startedMs + nextDueMs });
    }
  }
}
