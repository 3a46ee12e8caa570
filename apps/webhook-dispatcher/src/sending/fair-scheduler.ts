import { ArrayQueue } from './array-queue.js';

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
  /** Bytes that are signed and sent when it starts. */
  body: Uint8Array | null;
}

/** After this time an attempt counts as slow and its webhook competes with slow webhooks only. */
const SLOW_MS = 1_000;
const AGE_EVERY_MS = 100;
const REMOVE_IDLE_EVERY = 300;
/** Limits what starts in one go, in bytes of bodies and of starts; input and output of the process are handled before the next. */
const BYTES_PER_PASS = 262_144;
const BYTES_PER_START = 2_048;

/** Limits how many items run at a time, and queues the webhooks that wait for room. */
class ConcurrencyLimiter<T> {
  readonly waiting = new ArrayQueue<WebhookQueue<T>>();
  active = 0;
  /** Number of webhooks that refer to it; unused limiters are removed. */
  users = 0;

  constructor(public limit: number) {}

  get hasRoom(): boolean {
    return this.active < this.limit;
  }
}

/** The limiter of an organization or a partner, whose children that have items take turns. */
class RoundRobinLimiter<T, Child> extends ConcurrencyLimiter<T> {
  readonly ready = new ArrayQueue<Child>();
  isReady = false;
}

type OrganizationLimiter<T> = RoundRobinLimiter<T, WebhookQueue<T>>;
type PartnerLimiter<T> = RoundRobinLimiter<T, OrganizationLimiter<T>>;

/** The queue of a webhook. It waits for one limiter at a time, or is in the queue of its organization, or is idle. */
interface WebhookQueue<T> {
  readonly id: string;
  readonly orgId: string;
  readonly organization: OrganizationLimiter<T>;
  readonly partner: PartnerLimiter<T>;
  readonly items: ArrayQueue<T>;
  readonly own: ConcurrencyLimiter<T>;
  origin: string;
  /** Its own, those of its route and origin, of its organization and of its partner. */
  limiters: readonly ConcurrencyLimiter<T>[];
  state: 'idle' | 'ready' | 'waiting';
  slow: number;
  pausedUntilMs: number;
}

interface RunningItem<T> {
  readonly webhook: WebhookQueue<T>;
  readonly limiters: readonly ConcurrencyLimiter<T>[];
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
  private readonly organizations = new Map<string, OrganizationLimiter<T>>();
  private readonly partners = new Map<string, PartnerLimiter<T>>();
  private readonly origins = new Map<string, ConcurrencyLimiter<T>>();
  private readonly routes = new Map<string, ConcurrencyLimiter<T>>();
  private readonly total: ConcurrencyLimiter<T>;
  private readonly slow: ConcurrencyLimiter<T>;
  private readonly ready = new ArrayQueue<PartnerLimiter<T>>();
  private readonly recent = new ArrayQueue<RunningItem<T>>();
  private timer: NodeJS.Timeout | undefined;
  private ticks = 0;
  private isPumping = false;
  private passBytes = 0;
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

  add(item: T, origin: string): void {
    const webhook = this.webhookOf(item, origin);
    webhook.items.push(item);
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
    for (const [limiters, limit] of [
      [this.origins, perOrigin],
      [this.partners, perPartner],
    ] as const) {
      for (const limiter of limiters.values()) {
        limiter.limit = limit;
        this.wakeAll(limiter);
      }
    }
    this.pump();
  }

  /** Changes how many items of a webhook may run at a time. Items that have started continue. */
  limitWebhook(webhookId: string, limit: number): void {
    const webhook = this.webhooks.get(webhookId);
    if (!webhook) return;
    webhook.own.limit = limit;
    this.wakeAll(webhook.own);
    this.pump();
  }

  /** Starts no item of a webhook before a time of `performance.now()`. */
  pauseWebhook(webhookId: string, untilMs: number): void {
    const webhook = this.webhooks.get(webhookId);
    if (!webhook || webhook.pausedUntilMs >= untilMs) return;
    webhook.pausedUntilMs = untilMs;
    this.resumeAt(webhook, untilMs);
  }

  /** Removes and returns queued items of the webhooks that are included, so that `keep` of each stay. */
  takeQueued(isIncluded: (webhookId: string, orgId: string) => boolean, keep = 0): T[] {
    const taken: T[] = [];
    for (const { id, orgId, items } of this.webhooks.values()) {
      if (items.size > keep && isIncluded(id, orgId)) taken.push(...items.takeAfter(keep));
    }
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
    // While all may not start, webhooks keep their position in the order of partners.
    while (this.ready.size > 0 && this.passBytes < BYTES_PER_PASS && this.total.hasRoom && this.canStart()) {
      const webhook = this.nextWebhook();
      const full = this.findFull(webhook);
      if (webhook.items.size > 0 && full === null) {
        this.startNext(webhook);
        continue;
      }
      if (full !== null && full !== 'paused' && webhook.items.size > 0) {
        webhook.state = 'waiting';
        full.waiting.push(webhook);
      }
      // Capacity that this webhook was woken for and cannot use goes to the next one.
      for (const limiter of webhook.limiters) this.wake(limiter);
    }
    this.isPumping = false;
  }

  /** Resumes a webhook unless it was paused again. A timer counts from the start of a turn, so it may fire early. */
  private resumeAt(webhook: WebhookQueue<T>, untilMs: number): void {
    const resume = () => {
      if (webhook.pausedUntilMs !== untilMs) return;
      if (performance.now() < untilMs) return this.resumeAt(webhook, untilMs);
      this.enqueue(webhook);
      this.pump();
    };
    setTimeout(resume, untilMs - performance.now() + 1).unref();
  }

  private startNextPass(): void {
    this.passBytes = 0;
    this.pump();
  }

  private findFull(webhook: WebhookQueue<T>): ConcurrencyLimiter<T> | 'paused' | null {
    if (webhook.pausedUntilMs > 0 && webhook.pausedUntilMs > performance.now()) return 'paused';
    for (const limiter of webhook.limiters) if (!limiter.hasRoom) return limiter;
    const isSlow = webhook.slow > 0 || webhook.own.limit < this.limits.perWebhook;
    return isSlow && !this.slow.hasRoom ? this.slow : null;
  }

  private startNext(webhook: WebhookQueue<T>): void {
    const item = webhook.items.shift() as T;
    this.activeCount += 1;
    const { limiters } = webhook;
    for (const limiter of limiters) limiter.active += 1;
    this.total.active += 1;
    const running: RunningItem<T> = { webhook, limiters, startedMs: performance.now(), isSlow: false, isDone: false };
    this.recent.push(running);
    this.enqueue(webhook);
    if (this.passBytes === 0) setImmediate(() => this.startNextPass());
    this.passBytes += BYTES_PER_START + (item.body?.length ?? 0);
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

  private release(limiter: ConcurrencyLimiter<T>): void {
    limiter.active -= 1;
    this.wake(limiter);
  }

  private wake(limiter: ConcurrencyLimiter<T>): void {
    if (!limiter.hasRoom) return;
    const webhook = limiter.waiting.shift();
    if (!webhook) return;
    webhook.state = 'idle';
    this.enqueue(webhook);
  }

  private wakeAll(limiter: ConcurrencyLimiter<T>): void {
    while (limiter.waiting.size > 0 && limiter.hasRoom) this.wake(limiter);
  }

  private enqueue(webhook: WebhookQueue<T>): void {
    if (webhook.state !== 'idle' || webhook.items.size === 0) return;
    webhook.state = 'ready';
    const { organization, partner } = webhook;
    organization.ready.push(webhook);
    if (!organization.isReady) partner.ready.push(organization);
    if (!partner.isReady) this.ready.push(partner);
    organization.isReady = partner.isReady = true;
  }

  /** Takes the next webhook; its partner and organization go to the end of their queues. */
  private nextWebhook(): WebhookQueue<T> {
    const partner = this.ready.shift() as PartnerLimiter<T>;
    const organization = partner.ready.shift() as OrganizationLimiter<T>;
    const webhook = organization.ready.shift() as WebhookQueue<T>;
    webhook.state = 'idle';
    organization.isReady = organization.ready.size > 0;
    if (organization.isReady) partner.ready.push(organization);
    partner.isReady = partner.ready.size > 0;
    if (partner.isReady) this.ready.push(partner);
    return webhook;
  }

  private webhookOf({ webhookId, orgId, partnerId }: T, origin: string): WebhookQueue<T> {
    let webhook = this.webhooks.get(webhookId);
    if (webhook?.origin === origin) return webhook;
    if (!webhook) {
      const { perWebhook, perOrganization, perPartner } = this.limits;
      webhook = {
        id: webhookId,
        orgId,
        organization: findOrAdd(this.organizations, orgId, () => new RoundRobinLimiter(perOrganization)),
        partner: findOrAdd(this.partners, partnerId, () => new RoundRobinLimiter(perPartner)),
        items: new ArrayQueue<T>(),
        own: new ConcurrencyLimiter(perWebhook),
        origin,
        limiters: [],
        state: 'idle',
        slow: 0,
        pausedUntilMs: 0,
      };
      this.webhooks.set(webhookId, webhook);
    }
    this.moveToOrigin(webhook, origin);
    return webhook;
  }

  /** Counts what starts from now on at an origin, another one after the URL of the webhook has changed. */
  private moveToOrigin(webhook: WebhookQueue<T>, origin: string): void {
    const { orgId, own, organization, partner, limiters } = webhook;
    const { perRoute, perOrigin } = this.limits;
    const route = findOrAdd(this.routes, `${orgId} ${origin}`, () => new ConcurrencyLimiter(perRoute));
    const ofOrigin = findOrAdd(this.origins, origin, () => new ConcurrencyLimiter(perOrigin));
    for (const limiter of limiters) limiter.users -= 1;
    webhook.origin = origin;
    webhook.limiters = [own, route, ofOrigin, organization, partner];
    for (const limiter of webhook.limiters) limiter.users += 1;
  }

  private removeIdle(nowMs: number): void {
    for (const { id, items, own, limiters, state, pausedUntilMs } of this.webhooks.values()) {
      const isLimited = own.limit !== this.limits.perWebhook;
      if (items.size > 0 || own.active > 0 || state !== 'idle' || isLimited || pausedUntilMs > nowMs) continue;
      this.webhooks.delete(id);
      for (const limiter of limiters) limiter.users -= 1;
    }
    for (const limiters of [this.organizations, this.partners, this.routes, this.origins]) {
      for (const [key, { users, active }] of limiters) if (users === 0 && active === 0) limiters.delete(key);
    }
  }
}

function findOrAdd<Limiter>(limiters: Map<string, Limiter>, key: string, create: () => Limiter): Limiter {
  let limiter = limiters.get(key);
  if (!limiter) limiters.set(key, (limiter = create()));
  return limiter;
}
