import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@rmm/service-kit';
import { DISPATCHER_CONFIG, type DispatcherConfig } from '../config.js';
import { DispatcherMetrics } from '../dispatcher.metrics.js';
import { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { partitionOf } from '../replicas/partition-of.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import type { Subscription } from '../subscriptions/subscription.mapper.js';
import { BreakersService } from './breakers.service.js';
import { DeliveryAttemptsService } from './delivery-attempts.service.js';
import { FairScheduler } from './fair-scheduler.js';
import { MemoryBudget, type Room } from './memory-budget.js';
import { OutcomeBatcherService } from './outcome-batcher.service.js';
import {
  createExpiredOutcome,
  createInactiveOutcome,
  createPendingOutcome,
  type Outcome,
  type QueuedDelivery,
} from './queued-delivery.js';

/** Longer retries wait in the table. */
const MAX_TIMER_MS = 60_000;
/** The organizations' share of one origin, and the limit of a partner, over all their webhooks. */
const ROUTE_CONCURRENCY = 20;
const PARTNER_CONCURRENCY = 500;
/** The part that a replica may always use of the limits that all replicas share. */
const MIN_PARTNER_CONCURRENCY = 100;
/** Limit of attempts that take longer than a second, as a multiple of those that may start. */
const SLOW_FACTOR = 4;
/** Time for which a hand-over waits for attempts in flight. */
const HAND_OVER_MS = 600;
const POLL_MS = 20;
/** Time that the next owner adds to the time limit of an attempt before it sends a delivery whose attempt is in flight here. */
const RESERVE_MARGIN_MS = 5_000;
const MEASURE_MS = 1_000;
const GONE = 410;
const NO_ROOM: Room = { maxRows: 0, rows: 0, bytes: 0 };

/** `tenant`: the organization or its partner is not active, or the webhook cannot be opened; `paused`: its receiver asked for a pause. */
export type WaitingReason = 'breaker' | 'limit' | 'paused' | 'tenant';

/** Receives the webhooks whose deliveries wait in the table. */
export type WaitingListener = (webhookId: string, orgId: string, dueInMs: number) => void;

/**
 * Sends the deliveries that are in memory: bounded for each webhook, in fair order. What does not fit stays in the table.
 */
@Injectable()
export class SenderService {
  private readonly scheduler: FairScheduler<QueuedDelivery>;
  private readonly budget = new MemoryBudget();
  /** Deliveries in memory until their outcome is written, by webhook and id. */
  private readonly known = new Map<string, Map<string, QueuedDelivery>>();
  private readonly inFlight = new Set<QueuedDelivery>();
  /** Retries of up to a minute. */
  private readonly retries = new Map<QueuedDelivery, NodeJS.Timeout>();
  private readonly pausedUntilMs = new Map<string, number>();
  private onWaiting: WaitingListener = () => undefined;
  private onGone: () => void = () => undefined;
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  constructor(
    private readonly attempts: DeliveryAttemptsService,
    private readonly index: SubscriptionIndexService,
    private readonly outcomes: OutcomeBatcherService,
    private readonly leases: PartitionLeaseManagerService,
    private readonly breakers: BreakersService,
    private readonly logger: Logger,
    @Inject(DISPATCHER_CONFIG) private readonly config: DispatcherConfig,
    metrics: DispatcherMetrics,
  ) {
    const limits = {
      total: config.workerConcurrency,
      slow: config.workerConcurrency * SLOW_FACTOR,
      perWebhook: config.webhookConcurrency,
      perRoute: Math.max(1, Math.min(ROUTE_CONCURRENCY, Math.floor(config.originConcurrency / 2))),
      perOrigin: config.originConcurrency,
      perOrganization: config.organizationConcurrency,
      perPartner: PARTNER_CONCURRENCY,
    };
    this.scheduler = new FairScheduler(
      limits,
      (delivery, done) => void this.attempt(delivery, done),
      () => !this.isStopped && this.leases.canSend && !this.outcomes.isFull,
    );
    breakers.subscribe((webhookId, limit) => this.onBreakerChanged(webhookId, limit));
    outcomes.subscribe({
      onStored: (outcome) => this.onStored(outcome),
      onDiscarded: ({ delivery }) => this.forget(delivery),
      onDrained: () => this.scheduler.resume(),
    });
    metrics.observeQueue({
      queued: () => this.budget.size,
      queuedBytes: () => this.budget.sizeInBytes,
      inFlight: () => this.scheduler.active,
      subscriptions: () => index.size,
      undecipherable: () => index.undecipherable,
      openBreakers: () => breakers.openBreakers,
      partitions: () => leases.count,
    });
  }

  /** @param onGone  called when a receiver responded 410 to the last attempt of a delivery */
  start(onWaiting: WaitingListener, onGone: () => void): void {
    this.onWaiting = onWaiting;
    this.onGone = onGone;
    this.scheduler.startTimer();
    this.timer = setInterval(() => this.measure(), MEASURE_MS).unref();
  }

  /** Returns whether a delivery is in memory. */
  isKnown({ webhookId, id }: Pick<QueuedDelivery, 'webhookId' | 'id'>): boolean {
    return this.known.get(webhookId)?.has(id) ?? false;
  }

  /** Returns the stored deliveries of a webhook in memory. */
  listKnown(webhookId: string): string[] {
    return [...(this.known.get(webhookId)?.keys() ?? [])];
  }

  /** Returns what a webhook may have in memory, and how much more; nothing while it must wait. */
  room(webhookId: string): Room {
    const isPaused = (this.pausedUntilMs.get(webhookId) ?? 0) > performance.now();
    if (this.isStopped || isPaused || this.index.mustWait(webhookId)) return NO_ROOM;
    return this.budget.room(webhookId);
  }

  /** Returns why due deliveries of a webhook wait in the table. */
  waitingReason(webhookId: string): WaitingReason {
    if (this.index.mustWait(webhookId)) return 'tenant';
    if ((this.pausedUntilMs.get(webhookId) ?? 0) > performance.now()) return 'paused';
    return this.breakers.isOpen(webhookId) ? 'breaker' : 'limit';
  }

  /** Queues a delivery. @returns false when it has to wait in the table */
  add(delivery: QueuedDelivery): boolean {
    const { webhookId } = delivery;
    if (this.isStopped || this.isKnown(delivery)) return this.isKnown(delivery);
    if (this.room(webhookId).maxRows === 0 || !this.budget.fits(webhookId, sizeOf(delivery))) return false;
    this.remember(delivery);
    this.enqueue(delivery);
    return true;
  }

  /** Stores a delivery that waits or whose attempt takes long, so that its event can be acknowledged. */
  store(delivery: QueuedDelivery): void {
    if (!delivery.isStored && !delivery.hasOutcome) this.outcomes.add(createPendingOutcome(delivery));
  }

  /** Fails a stored delivery without an attempt. @returns false when it is in memory and may be sent */
  expire(delivery: QueuedDelivery): boolean {
    if (this.isStopped || this.isKnown(delivery)) return false;
    this.remember(delivery);
    this.release(delivery, 'table');
    this.outcomes.add(createExpiredOutcome(delivery));
    return true;
  }

  /** Leaves the retries of a webhook that wait in memory to the table, where they may be due earlier. */
  dropRetries(webhookId: string): void {
    for (const delivery of this.takeRetries((one) => one.webhookId === webhookId)) this.forget(delivery);
  }

  /** Starts no attempts of a webhook for some time; a shorter pause does not end a longer one. */
  pause(webhookId: string, pauseMs: number): void {
    const untilMs = performance.now() + pauseMs;
    if ((this.pausedUntilMs.get(webhookId) ?? 0) < untilMs) this.pausedUntilMs.set(webhookId, untilMs);
    this.scheduler.pauseWebhook(webhookId, untilMs);
    this.shrink(webhookId);
  }

  /** Divides the limits that apply to organizations of several replicas. */
  shareLimits(replicas: number): void {
    this.scheduler.limitShared(
      Math.max(ROUTE_CONCURRENCY, Math.ceil(this.config.originConcurrency / replicas)),
      Math.max(MIN_PARTNER_CONCURRENCY, Math.ceil(PARTNER_CONCURRENCY / replicas)),
    );
  }

  /** Starts attempts again after the leases were renewed. */
  resume(): void {
    this.scheduler.resume();
  }

  /** Drops what is queued of partitions that another replica owns. */
  drop(partitions: ReadonlySet<number>): void {
    const isDropped = ({ partition }: QueuedDelivery) => partitions.has(partition);
    this.breakers.remove((webhookId) => partitions.has(this.index.find(webhookId)?.partition ?? -1));
    const queued = this.scheduler.takeQueued((_, orgId) => partitions.has(partitionOf(orgId)));
    for (const delivery of [...queued, ...this.takeRetries(isDropped)]) {
      this.forget(delivery);
      if (!delivery.isStored && !delivery.hasOutcome) delivery.event?.onRefused();
    }
  }

  /** Resolves when nothing of some partitions is left to do here except attempts in flight, which the next owner leaves. */
  async handOver(partitions: ReadonlySet<number>): Promise<void> {
    this.drop(partitions);
    const listInFlight = () => [...this.inFlight].filter(({ partition }) => partitions.has(partition));
    const deadlineMs = performance.now() + HAND_OVER_MS;
    while (listInFlight().length > 0 && performance.now() < deadlineMs) await sleep(POLL_MS);
    const reserveMs = this.config.timeoutMs + RESERVE_MARGIN_MS;
    for (const delivery of listInFlight()) {
      if (!delivery.isStored && !delivery.hasOutcome) this.outcomes.add(createPendingOutcome(delivery, reserveMs));
    }
    await this.outcomes.flush();
    const stored = listInFlight().filter(({ isStored }) => isStored);
    if (stored.length > 0) await this.outcomes.reserve(stored, reserveMs);
  }

  /** Starts no more attempts. Resolves when all attempts in flight have ended, or after `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    this.isStopped = true;
    const deadlineMs = performance.now() + timeoutMs;
    while (this.scheduler.active > 0 && performance.now() < deadlineMs) await sleep(POLL_MS);
    this.scheduler.stopTimer();
    this.takeRetries(() => true);
    clearInterval(this.timer);
  }

  private enqueue(delivery: QueuedDelivery): void {
    const subscription = this.index.find(delivery.webhookId);
    if (subscription) this.scheduler.add(delivery, subscription.origin);
    else this.endWithoutAttempt(delivery);
  }

  /** Never rejects. */
  private async attempt(delivery: QueuedDelivery, done: () => void): Promise<void> {
    const subscription = this.index.find(delivery.webhookId);
    if (!subscription || this.index.mustWait(delivery.webhookId)) {
      this.endWithoutAttempt(delivery);
      return done();
    }
    this.inFlight.add(delivery);
    try {
      this.end(subscription, await this.attempts.attempt(subscription, delivery));
    } catch (err) {
      this.logger.error({ err, deliveryId: delivery.id }, 'Attempt failed unexpectedly; the delivery is sent again');
      this.leaveMemory(delivery);
    }
    this.inFlight.delete(delivery);
    // The capacity of a webhook with an open breaker is released after a pause; no other webhook waits for it.
    const pauseMs = this.breakers.pauseMs(delivery.webhookId);
    if (pauseMs > 0) await sleep(pauseMs, undefined, { ref: false });
    done();
  }

  private end(subscription: Subscription, outcome: Outcome): void {
    this.release(outcome.delivery, 'ended');
    this.outcomes.add(outcome);
    if (outcome.pauseMs > 0) this.pause(subscription.webhookId, outcome.pauseMs);
  }

  /** Fails a delivery whose webhook is not active, and leaves one in the table whose webhook must wait. */
  private endWithoutAttempt(delivery: QueuedDelivery): void {
    if (this.index.mustWait(delivery.webhookId)) return this.leaveMemory(delivery);
    this.release(delivery, 'ended');
    this.outcomes.add(createInactiveOutcome(delivery));
  }

  /** Leaves a delivery in the table, from which it is read again later. */
  private leaveMemory(delivery: QueuedDelivery): void {
    this.release(delivery, 'table');
    if (!delivery.isStored) return this.store(delivery);
    this.forget(delivery);
    this.onWaiting(delivery.webhookId, delivery.orgId, 0);
  }

  private onStored({ delivery, status, startedMs, delayMs, responseStatus }: Outcome): void {
    const isOpenRow = startedMs === null && status !== 'failed';
    // It is sent, or its outcome follows.
    if (isOpenRow && delivery.state !== 'table') return;
    this.forget(delivery);
    if (isOpenRow) this.onWaiting(delivery.webhookId, delivery.orgId, delayMs);
    else if (status === 'retrying') this.retryLater(delivery, delayMs);
    else if (responseStatus === GONE) this.onGone();
  }

  private retryLater(delivery: QueuedDelivery, delayMs: number): void {
    const { webhookId, orgId, partition, attempt } = delivery;
    const next = { ...delivery, attempt: attempt + 1, event: null, isStored: true, hasOutcome: false };
    const isOwner = this.leases.owns(partition);
    if (!isOwner || this.isStopped || delayMs > MAX_TIMER_MS || !this.budget.fits(webhookId, sizeOf(next))) {
      return this.onWaiting(webhookId, orgId, delayMs);
    }
    this.remember(next);
    const timer = setTimeout(() => {
      this.retries.delete(next);
      this.enqueue(next);
    }, delayMs);
    this.retries.set(next, timer.unref());
  }

  private takeRetries(isIncluded: (delivery: QueuedDelivery) => boolean): QueuedDelivery[] {
    const taken: QueuedDelivery[] = [];
    for (const [delivery, timer] of this.retries) {
      if (!isIncluded(delivery)) continue;
      clearTimeout(timer);
      this.retries.delete(delivery);
      taken.push(delivery);
    }
    return taken;
  }

  private onBreakerChanged(webhookId: string, limit: number): void {
    const isOpen = this.breakers.isOpen(webhookId);
    this.scheduler.limitWebhook(webhookId, limit);
    this.budget.setClosed(webhookId, isOpen);
    if (isOpen) this.shrink(webhookId);
  }

  /** Leaves what is queued of a webhook in the table but for a handful, since it cannot be sent soon. */
  private shrink(webhookId: string): void {
    const keep = this.breakers.isOpen(webhookId) ? 2 : 0;
    for (const delivery of this.scheduler.takeQueued((id) => id === webhookId, keep)) this.leaveMemory(delivery);
  }

  private remember(delivery: QueuedDelivery): void {
    const { webhookId, id } = delivery;
    let ofWebhook = this.known.get(webhookId);
    if (!ofWebhook) this.known.set(webhookId, (ofWebhook = new Map<string, QueuedDelivery>()));
    ofWebhook.set(id, delivery);
    this.budget.add(webhookId, sizeOf(delivery));
    delivery.state = 'memory';
  }

  /** Frees the budget of a delivery. It stays known until its outcome is written. */
  private release(delivery: QueuedDelivery, to: 'ended' | 'table'): void {
    if (delivery.state === 'memory') this.budget.remove(delivery.webhookId, sizeOf(delivery), to === 'ended');
    delivery.state = to;
  }

  private forget(delivery: QueuedDelivery): void {
    this.release(delivery, 'table');
    const ofWebhook = this.known.get(delivery.webhookId);
    if (ofWebhook?.get(delivery.id) !== delivery) return;
    ofWebhook.delete(delivery.id);
    if (ofWebhook.size === 0) this.known.delete(delivery.webhookId);
  }

  private measure(): void {
    this.budget.measure();
    const now = performance.now();
    for (const [webhookId, untilMs] of this.pausedUntilMs) if (untilMs <= now) this.pausedUntilMs.delete(webhookId);
  }
}

const sizeOf = ({ body }: QueuedDelivery): number => body?.length ?? 0;
