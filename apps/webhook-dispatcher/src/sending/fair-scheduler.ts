import { ConcurrencyLimit, FIRST, type Kind, KINDS, otherKind, RETRY } from './concurrency-limit.js';
import { ArrayQueue } from './array-queue.js';
import { type NodeLimits, SchedulerGraph } from './scheduler-graph.js';
import type { OrganizationNode, OriginNode, RouteNode, WebhookNode } from './scheduler-nodes.js';

export interface SchedulerLimits extends NodeLimits {
  total: number;
  perOrigin: number;
}

/** What a place in the queue depends on. */
export interface Schedulable {
  webhookId: string;
  orgId: string;
}

export interface SchedulerOptions {
  /** Looked at before each begin: false stops everything until `resume`. */
  mayBegin?: () => boolean;
  /** The cap of an origin that is met for the first time; `perOrigin` by default. */
  limitOf?: (origin: string) => number;
}

/**
 * Gives each item its turn. Organizations take turns, then the origins of one organization, then its webhooks there; so
 * nobody gets more for having more webhooks, and one organization's thousands do not stand before another's one.
 *
 * What is at a cap stands aside and is not looked at again until a slot is freed: an organization and a webhook simply
 * leave the turns, a route (an organization at an origin) waits at the origin. A freed slot wakes one that waits for
 * it; one that cannot use it passes it on. So an item costs the same whatever stands in the queue.
 *
 * Retries take turns with first attempts, and never more than three quarters of any cap: a first attempt always finds a
 * slot that no retry holds.
 */
export class FairScheduler<T extends Schedulable> {
  private readonly graph: SchedulerGraph<T>;
  private readonly total: ConcurrencyLimit;
  private readonly turns = new ArrayQueue<OrganizationNode<T>>();
  /** Organizations that could go on with a retry if there were not so many retries in all. */
  private readonly waitForRetries = new ArrayQueue<OrganizationNode<T>>();
  private readonly mayBegin: () => boolean;
  private queuedCount = 0;
  private queuedRetryCount = 0;
  private startedRetryCount = 0;
  private retriesAllowed = Infinity;

  /** @param start  begins the work and calls `done` once, when it has ended */
  constructor(
    limits: SchedulerLimits,
    private readonly start: (item: T, origin: string, done: () => void) => void,
    { mayBegin = () => true, limitOf = () => limits.perOrigin }: SchedulerOptions = {},
  ) {
    this.graph = new SchedulerGraph(limits, limitOf);
    this.total = new ConcurrencyLimit(limits.total);
    this.mayBegin = mayBegin;
  }

  get active(): number {
    return this.total.active;
  }

  get queued(): number {
    return this.queuedCount;
  }

  /** Of these, retries. */
  get queuedRetries(): number {
    return this.queuedRetryCount;
  }

  /** Since the start. */
  get begunRetries(): number {
    return this.startedRetryCount;
  }

  /** So many more retries may begin, until this is called again. */
  allowRetries(count: number): void {
    this.retriesAllowed = count;
    this.wakeForRetries();
    this.pump();
  }

  /** Organizations that have something here, with what has ended since this was last asked. */
  *organizations(): Iterable<{ orgId: string; queued: number; ended: number }> {
    for (const organization of this.graph.organizations.values()) {
      const { orgId, queued, ended } = organization;
      organization.ended = 0;
      yield { orgId, queued, ended };
    }
  }

  queuedOf(orgId: string): number {
    return this.graph.organizations.get(orgId)?.queued ?? 0;
  }

  add(item: T, origin: string, isRetry: boolean): void {
    const kind = isRetry ? RETRY : FIRST;
    const webhook = this.graph.webhook(item.webhookId, item.orgId, origin);
    webhook.queues[kind].push(item);
    webhook.route.organization.queued += 1;
    this.queuedCount += 1;
    this.queuedRetryCount += kind;
    this.list(webhook, kind);
    this.pump();
  }

  /** What may begin has changed. */
  resume(): void {
    this.pump();
  }

  /** Changes the cap of one origin. What is under way stays under way. */
  limitOrigin(origin: string, limit: number): void {
    const node = this.graph.origins.get(origin);
    if (!node) return;
    node.cap.limit = limit;
    for (const kind of KINDS) this.wake(node, kind);
    this.pump();
  }

  /** Takes back everything that has not begun, or what would go to some origins. */
  clear(concerns: (origin: string) => boolean = () => true): T[] {
    const origins = [...this.graph.origins.values()].filter(({ origin }) => concerns(origin));
    return origins.flatMap(({ routes }) => [...routes].flatMap((route) => this.takeFrom(route, 0)));
  }

  /** Takes the newest of an organization, so that about `kept` of its items stay. */
  shorten(orgId: string, kept: number): T[] {
    const organization = this.graph.organizations.get(orgId);
    if (!organization || organization.queued <= kept) return [];
    const routes = [...organization.routes.values()];
    const queues = routes.reduce((sum, { webhooks }) => sum + webhooks.size * KINDS.length, 0);
    return routes.flatMap((route) => this.takeFrom(route, Math.ceil(kept / queues)));
  }

  private takeFrom({ webhooks, organization }: RouteNode<T>, keptPerQueue: number): T[] {
    return [...webhooks].flatMap((webhook) => {
      const taken = KINDS.flatMap((kind) => {
        const ofKind = webhook.queues[kind].takeBehind(keptPerQueue);
        this.queuedRetryCount -= kind * ofKind.length;
        return ofKind;
      });
      organization.queued -= taken.length;
      this.queuedCount -= taken.length;
      this.graph.dropIfUnused(webhook);
      return taken;
    });
  }

  private get mayRetry(): boolean {
    return this.retriesAllowed >= 1 && this.total.allows(RETRY);
  }

  private pump(): void {
    while (this.total.allows(FIRST) && this.turns.size > 0 && this.mayBegin()) {
      const organization = this.turns.shift();
      if (!organization) return;
      organization.isListed = false;
      const { turn } = organization;
      if (this.beginOne(organization, turn)) organization.turn = otherKind(turn);
      else this.beginOne(organization, otherKind(turn));
      this.enlist(organization);
      this.wakeForRetries();
    }
  }

  private beginOne(organization: OrganizationNode<T>, kind: Kind): boolean {
    if (!organization.cap.allows(kind) || !(kind === FIRST ? this.total.allows(FIRST) : this.mayRetry)) return false;
    const turns = organization.turns[kind];
    for (let route = turns.shift(); route; route = turns.shift()) {
      const { origin } = route;
      const wasWoken = organization.woken[kind].delete(route);
      route.place[kind] = 'idle';
      if (!origin.cap.allows(kind)) {
        this.park(route, kind, wasWoken);
        continue;
      }
      const webhook = nextOf(route, kind);
      if (!webhook) {
        this.wake(origin, kind);
        continue;
      }
      this.begin(webhook, kind);
      return true;
    }
    return false;
  }

  private begin(webhook: WebhookNode<T>, kind: Kind): void {
    const { organization, origin } = webhook.route;
    const item = webhook.queues[kind].shift() as T;
    this.queuedCount -= 1;
    this.queuedRetryCount -= kind;
    organization.queued -= 1;
    if (kind === RETRY) {
      this.startedRetryCount += 1;
      this.retriesAllowed -= 1;
    }
    this.total.take(kind);
    organization.cap.take(kind);
    origin.cap.take(kind);
    webhook.cap.take(kind);
    this.list(webhook, kind);
    this.ready(webhook.route, kind);
    this.wake(origin, kind);
    this.passOn(organization);
    let isDone = false;
    this.start(item, origin.origin, () => {
      if (isDone) return;
      isDone = true;
      this.finish(webhook, kind);
    });
  }

  private finish(webhook: WebhookNode<T>, kind: Kind): void {
    const { organization, origin } = webhook.route;
    this.total.release(kind);
    organization.cap.release(kind);
    origin.cap.release(kind);
    webhook.cap.release(kind);
    organization.ended += 1;
    for (const either of KINDS) this.list(webhook, either);
    const { turn } = origin;
    origin.turn = otherKind(turn);
    this.wake(origin, turn);
    this.wake(origin, otherKind(turn));
    this.enlist(organization);
    this.wakeForRetries();
    this.graph.dropIfUnused(webhook);
    this.pump();
  }

  /** Gives a webhook that can go on its place in the turns of its route. */
  private list(webhook: WebhookNode<T>, kind: Kind): void {
    if (webhook.isListed[kind] || !webhook.canBegin(kind)) return;
    webhook.isListed[kind] = true;
    webhook.route.turns[kind].push(webhook);
    this.ready(webhook.route, kind);
  }

  /** Gives a route its place: behind those who wait for the origin already, if there are any. */
  private ready(route: RouteNode<T>, kind: Kind): void {
    if (route.place[kind] !== 'idle' || route.turns[kind].size === 0) return;
    if (route.origin.waiting[kind].size > 0) return this.park(route, kind, false);
    route.place[kind] = 'ready';
    route.organization.turns[kind].push(route);
    this.enlist(route.organization);
  }

  private park(route: RouteNode<T>, kind: Kind, keepsItsPlace: boolean): void {
    const waiting = route.origin.waiting[kind];
    route.place[kind] = 'parked';
    if (keepsItsPlace) waiting.unshift(route);
    else waiting.push(route);
    this.wake(route.origin, kind);
  }

  /** Wakes the first that can use a free slot of the origin. */
  private wake({ cap, waiting }: OriginNode<T>, kind: Kind): void {
    while (waiting[kind].size > 0 && cap.allows(kind)) {
      const route = waiting[kind].shift() as RouteNode<T>;
      const { organization } = route;
      route.place[kind] = 'ready';
      organization.turns[kind].push(route);
      if (!organization.cap.allows(kind)) continue;
      organization.woken[kind].add(route);
      return this.enlist(organization);
    }
  }

  /** An organization that has just reached its cap hands on what its routes were woken for. */
  private passOn({ cap, woken }: OrganizationNode<T>): void {
    for (const kind of KINDS) {
      if (woken[kind].size === 0 || cap.allows(kind)) continue;
      const routes = [...woken[kind]];
      woken[kind].clear();
      for (const { origin } of routes) this.wake(origin, kind);
    }
  }

  private enlist(organization: OrganizationNode<T>): void {
    const hasRetries = organization.canBegin(RETRY);
    if (!organization.isListed && (organization.canBegin(FIRST) || (hasRetries && this.mayRetry))) {
      organization.isListed = true;
      this.turns.push(organization);
    } else if (hasRetries && !organization.waitsForRetries && !this.mayRetry) {
      organization.waitsForRetries = true;
      this.waitForRetries.push(organization);
    }
  }

  private wakeForRetries(): void {
    while (this.waitForRetries.size > 0 && this.mayRetry) {
      const organization = this.waitForRetries.shift() as OrganizationNode<T>;
      organization.waitsForRetries = false;
      this.enlist(organization);
      if (organization.isListed) return;
    }
  }
}

function nextOf<T>({ turns }: RouteNode<T>, kind: Kind): WebhookNode<T> | null {
  for (let webhook = turns[kind].shift(); webhook; webhook = turns[kind].shift()) {
    webhook.isListed[kind] = false;
    if (webhook.canBegin(kind)) return webhook;
  }
  return null;
}
