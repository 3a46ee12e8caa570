import { ArrayQueue } from './array-queue.js';
import { ConcurrencyLimiter } from './concurrency-limiter.js';

export interface SchedulerLimits {
  /** Attempts that started within the last second, of all. */
  total: number;
  /** Attempts that take longer than a second, of all. */
  slow: number;
  perWebhook: number;
  /** Attempts of one organization at one origin. */
  perRoute: number;
  perOrigin: number;
  perOrganization: number;
  perPartner: number;
}

/** The properties of an item that decide when it starts. */
export interface Schedulable {
  webhookId: string;
  orgId: string;
  partnerId: string;
}

/** After this time an attempt counts as slow and its webhook competes with slow webhooks only. */
const SLOW_MS = 1_000;
const AGE_EVERY_MS = 100;
const REMOVE_IDLE_EVERY = 300;
/** Starts in one go; input and output of the process are handled before the next. */
const STARTS_PER_PASS = 50;

type Limiter<T> = ConcurrencyLimiter<WebhookQueue<T>>;

/** A level of the round-robin order whose children have items that may start. */
interface RoundRobinNode<Child> {
  readonly ready: ArrayQueue<Child>;
  isReady: boolean;
}
interface PartnerNode<T> extends RoundRobinNode<OrganizationNode<T>> {
  readonly id: string;
  readonly limiter: Limiter<T>;
}
interface OrganizationNode<T> extends RoundRobinNode<WebhookQueue<T>> {
  readonly id: string;
  readonly limiter: Limiter<T>;
  readonly partner: PartnerNode<T>;
}

/** The queue of a webhook. It waits for one limiter at a time, or is in the queue of its organization, or is idle. */
interface WebhookQueue<T> {
  readonly id: string;
  readonly organization: OrganizationNode<T>;
  readonly items: ArrayQueue<T>;
  readonly limiter: Limiter<T>;
  origin: string;
  route: Limiter<T>;
  originLimiter: Limiter<T>;
  state: 'idle' | 'ready' | 'waiting';
  slow: number;
  pausedUntilMs: number;
}

interface RunningItem<T> {
  readonly webhook: WebhookQueue<T>;
  readonly limiters: Limiter<T>[];
  readonly startedMs: number;
  isSlow: boolean;
  isDone: boolean;
}

/**
 * Starts items in round-robin order of partners, then of their organizations, then of their webhooks, within the limits
 * of each webhook, organization at an origin, origin, organization and partner.
 *
 * A webhook that meets a full limiter waits in the queue of that limiter; released capacity wakes one webhook, and what
 * that one cannot use wakes the next. Attempts that take longer than a second leave the limit of all attempts, so no
 * number of receivers that hang keeps others from starting.
 */
export class FairScheduler<T extends Schedulable> {
  private readonly webhooks = new Map<string, WebhookQueue<T>>();
  private readonly organizations = new Map<string, OrganizationNode<T>>();
  private readonly partners = new Map<string, PartnerNode<T>>();
  private readonly origins = new Map<string, Limiter<T>>();
  private readonly routes = new Map<string, Limiter<T>>();
  private readonly total: Limiter<T>;
  private readonly slow: Limiter<T>;
  private readonly ready = new ArrayQueue<PartnerNode<T>>();
  private readonly recent = new ArrayQueue<RunningItem<T>>();
  private timer: NodeJS.Timeout | undefined;
  private ticks = 0;
  private isPumping = false;
  private isPumpScheduled = false;
  private queuedCount = 0;
  private activeCount = 0;

  /**
   * @param start  starts the item and calls `done` when it has ended
   * @param canStart  false stops everything until `resume`
   */
  constructor(
    private limits: SchedulerLimits,
    private readonly start: (item: T, done: () => void) => void,
    private readonly canStart: () => boolean = () => true,
  ) {
    this.total = new ConcurrencyLimiter(limits.total);
    this.slow = new ConcurrencyLimiter(limits.slow);
  }

  get active(): number {
    return this.activeCount;
  }

  get queued(): number {
    return this.queuedCount;
  }

  add(item: T, origin: string): void {
    const webhook = this.webhookOf(item, origin);
    webhook.items.push(item);
    this.queuedCount += 1;
    this.enqueue(webhook);
    this.pump();
  }

  /** Starts what may start, after the result of `canStart` has changed. */
  resume(): void {
    this.pump();
  }

  /** Changes how many items may run at an origin and of a partner at a time. */
  limitShared(perOrigin: number, perPartner: number): void {
    this.limits = { ...this.limits, perOrigin, perPartner };
    const partners = [...this.partners.values()].map(({ limiter }) => limiter);
    for (const limiter of this.origins.values()) limiter.limit = perOrigin;
    for (const limiter of partners) limiter.limit = perPartner;
    for (const limiter of [...this.origins.values(), ...partners]) this.wakeAll(limiter);
    this.pump();
  }

  /** Changes how many items of a webhook may run at a time. Items that have started continue. */
  limitWebhook(webhookId: string, limit: number): void {
    const webhook = this.webhooks.get(webhookId);
    if (!webhook) return;
    webhook.limiter.limit = limit;
    this.wakeAll(webhook.limiter);
    this.pump();
  }

  /** Starts no item of a webhook before a time of `performance.now()`. */
  pauseWebhook(webhookId: string, untilMs: number): void {
    const webhook = this.webhooks.get(webhookId);
    if (!webhook || webhook.pausedUntilMs >= untilMs) return;
    webhook.pausedUntilMs = untilMs;
    setTimeout(
      () => {
        this.enqueue(webhook);
        this.pump();
      },
      untilMs - performance.now() + 1,
    ).unref();
  }

  /** Removes and returns queued items of the webhooks that are included, so that `keep` of each stay. */
  takeQueued(isIncluded: (webhookId: string, orgId: string) => boolean, keep = 0): T[] {
    const taken: T[] = [];
    for (const { id, items, organization } of this.webhooks.values()) {
      if (items.size > keep && isIncluded(id, organization.id)) taken.push(...items.takeAfter(keep));
    }
    this.queuedCount -= taken.length;
    return taken;
  }

  startTimer(): void {
    this.timer = setInterval(() => this.age(performance.now()), AGE_EVERY_MS).unref();
  }

  stopTimer(): void {
    clearInterval(this.timer);
  }

  /** Moves attempts that have become slow out of the limit of all attempts. */
  age(nowMs: number): void {
    for (let item = this.recent.peek(); item && nowMs - item.startedMs >= SLOW_MS; item = this.recent.peek()) {
      this.recent.shift();
      if (item.isDone) continue;
      item.isSlow = true;
      item.webhook.slow += 1;
      this.slow.active += 1;
      this.release(this.total);
    }
    this.ticks += 1;
    if (this.ticks % REMOVE_IDLE_EVERY === 0) this.removeIdle(nowMs);
    this.pump();
  }

  private pump(): void {
    if (this.isPumping) return;
    this.isPumping = true;
    let started = 0;
    // While all may not start, webhooks keep their place in the order of partners.
    while (this.ready.size > 0 && this.total.hasRoom && this.canStart()) {
      if (started === STARTS_PER_PASS) {
        this.continueLater();
        break;
      }
      const webhook = this.nextWebhook();
      const full = this.findFull(webhook);
      if (webhook.items.size > 0 && full === null) {
        this.startNext(webhook);
        started += 1;
        continue;
      }
      if (full !== null && full !== 'paused' && webhook.items.size > 0) {
        webhook.state = 'waiting';
        full.waiting.push(webhook);
      }
      // Capacity that this webhook was woken for and cannot use goes to the next one.
      for (const limiter of this.limitersOf(webhook)) this.wake(limiter);
    }
    this.isPumping = false;
  }

  private continueLater(): void {
    if (this.isPumpScheduled) return;
    this.isPumpScheduled = true;
    setImmediate(() => {
      this.isPumpScheduled = false;
      this.pump();
    });
  }

  private findFull(webhook: WebhookQueue<T>): Limiter<T> | 'paused' | null {
    if (webhook.pausedUntilMs > 0 && webhook.pausedUntilMs > performance.now()) return 'paused';
    for (const limiter of this.limitersOf(webhook)) if (!limiter.hasRoom) return limiter;
    const isSlow = webhook.slow > 0 || webhook.limiter.limit < this.limits.perWebhook;
    return isSlow && !this.slow.hasRoom ? this.slow : null;
  }

  private limitersOf({ limiter, route, originLimiter, organization }: WebhookQueue<T>): Limiter<T>[] {
    return [limiter, route, originLimiter, organization.limiter, organization.partner.limiter];
  }

  private startNext(webhook: WebhookQueue<T>): void {
    const item = webhook.items.shift() as T;
    this.queuedCount -= 1;
    this.activeCount += 1;
    const limiters = this.limitersOf(webhook);
    for (const limiter of limiters) limiter.active += 1;
    this.total.active += 1;
    const running: RunningItem<T> = { webhook, limiters, startedMs: performance.now(), isSlow: false, isDone: false };
    this.recent.push(running);
    this.enqueue(webhook);
    this.start(item, () => this.finish(running));
  }

  private finish(running: RunningItem<T>): void {
    if (running.isDone) return;
    running.isDone = true;
    this.activeCount -= 1;
    const { webhook, limiters, isSlow } = running;
    for (const limiter of limiters) this.release(limiter);
    if (isSlow) webhook.slow -= 1;
    this.release(isSlow ? this.slow : this.total);
    this.enqueue(webhook);
    this.pump();
  }

  private release(limiter: Limiter<T>): void {
    limiter.active -= 1;
    this.wake(limiter);
  }

  private wake(limiter: Limiter<T>): void {
    if (!limiter.hasRoom) return;
    const webhook = limiter.waiting.shift();
    if (!webhook) return;
    webhook.state = 'idle';
    this.enqueue(webhook);
  }

  private wakeAll(limiter: Limiter<T>): void {
    while (limiter.waiting.size > 0 && limiter.hasRoom) this.wake(limiter);
  }

  private enqueue(webhook: WebhookQueue<T>): void {
    if (webhook.state !== 'idle' || webhook.items.size === 0) return;
    webhook.state = 'ready';
    const { organization } = webhook;
    organization.ready.push(webhook);
    if (!organization.isReady) {
      organization.isReady = true;
      organization.partner.ready.push(organization);
    }
    this.enqueuePartner(organization.partner);
  }

  private enqueuePartner(partner: PartnerNode<T>): void {
    if (partner.isReady) return;
    partner.isReady = true;
    this.ready.push(partner);
  }

  /** Takes the next webhook; its partner and organization go to the end of their queues. */
  private nextWebhook(): WebhookQueue<T> {
    const partner = this.ready.shift() as PartnerNode<T>;
    const organization = partner.ready.shift() as OrganizationNode<T>;
    const webhook = organization.ready.shift() as WebhookQueue<T>;
    webhook.state = 'idle';
    if (organization.ready.size > 0) partner.ready.push(organization);
    else organization.isReady = false;
    partner.isReady = false;
    if (partner.ready.size > 0) this.enqueuePartner(partner);
    return webhook;
  }

  private webhookOf({ webhookId, orgId, partnerId }: T, origin: string): WebhookQueue<T> {
    const known = this.webhooks.get(webhookId);
    if (known) {
      if (known.origin !== origin) this.moveToOrigin(known, origin);
      return known;
    }
    const organization = this.organizationOf(orgId, partnerId);
    const webhook: WebhookQueue<T> = {
      id: webhookId,
      organization,
      items: new ArrayQueue<T>(),
      limiter: new ConcurrencyLimiter(this.limits.perWebhook),
      origin,
      route: use(this.routes, `${orgId} ${origin}`, this.limits.perRoute),
      originLimiter: use(this.origins, origin, this.limits.perOrigin),
      state: 'idle',
      slow: 0,
      pausedUntilMs: 0,
    };
    organization.limiter.users += 1;
    this.webhooks.set(webhookId, webhook);
    return webhook;
  }

  /** The URL of the webhook has changed: what starts from now on counts at the new origin. */
  private moveToOrigin(webhook: WebhookQueue<T>, origin: string): void {
    webhook.route.users -= 1;
    webhook.originLimiter.users -= 1;
    webhook.origin = origin;
    webhook.route = use(this.routes, `${webhook.organization.id} ${origin}`, this.limits.perRoute);
    webhook.originLimiter = use(this.origins, origin, this.limits.perOrigin);
  }

  private organizationOf(orgId: string, partnerId: string): OrganizationNode<T> {
    const known = this.organizations.get(orgId);
    if (known) return known;
    let partner = this.partners.get(partnerId);
    if (!partner) {
      partner = { id: partnerId, ...createNode(this.limits.perPartner) };
      this.partners.set(partnerId, partner);
    }
    partner.limiter.users += 1;
    const organization = { id: orgId, partner, ...createNode<WebhookQueue<T>, T>(this.limits.perOrganization) };
    this.organizations.set(orgId, organization);
    return organization;
  }

  private removeIdle(nowMs: number): void {
    for (const webhook of this.webhooks.values()) {
      const { id, items, limiter, state, organization, route, originLimiter, pausedUntilMs } = webhook;
      const isClosed = limiter.limit === this.limits.perWebhook;
      if (items.size > 0 || limiter.active > 0 || state !== 'idle' || !isClosed || pausedUntilMs > nowMs) continue;
      this.webhooks.delete(id);
      for (const shared of [organization.limiter, route, originLimiter]) shared.users -= 1;
    }
    for (const { id, limiter, partner } of this.organizations.values()) {
      if (limiter.users > 0) continue;
      this.organizations.delete(id);
      partner.limiter.users -= 1;
    }
    for (const { id, limiter } of this.partners.values()) if (limiter.users === 0) this.partners.delete(id);
    for (const shared of [this.routes, this.origins]) {
      for (const [key, { users, active }] of shared) if (users === 0 && active === 0) shared.delete(key);
    }
  }
}

const createNode = <Child, T>(limit: number) => ({
  ready: new ArrayQueue<Child>(),
  isReady: false,
  limiter: new ConcurrencyLimiter<WebhookQueue<T>>(limit),
});

function use<T>(limiters: Map<string, Limiter<T>>, key: string, limit: number): Limiter<T> {
  let limiter = limiters.get(key);
  if (!limiter) limiters.set(key, (limiter = new ConcurrencyLimiter(limit)));
  limiter.users += 1;
  return limiter;
}
