import { ArrayQueue } from './array-queue.js';
import { ConcurrencyLimit, FIRST_ATTEMPT, type Kind, KINDS, otherKind, RETRY } from './concurrency-limit.js';
import { type NodeLimits, SchedulerGraph } from './scheduler-graph.js';
import type { OrganizationNode, OriginNode, RouteNode, WebhookNode } from './scheduler-nodes.js';

export interface SchedulerLimits extends NodeLimits {
  total: number;
  perOrigin: number;
}

/** The properties of an item that decide when it starts. */
export interface Schedulable {
  webhookId: string;
  orgId: string;
}

export interface SchedulerOptions {
  /** Checked before each start; false stops everything until `resume`. */
  canStart?: () => boolean;
  /** Returns the limit of an origin that has no items yet; `perOrigin` by default. */
  limitOf?: (origin: string) => number;
}

/**
 * Starts items in round-robin order of organizations, then of the origins of one organization, then of its webhooks at
 * that origin. More webhooks do not mean a larger share, and the thousands of one organization do not delay another.
 *
 * Nodes at their limit are blocked and not checked again until capacity is released: organizations and webhooks leave
 * their queues, a route (an organization at an origin) waits in the queue of the origin. Released capacity wakes one
 * route; if that cannot use it, the next one. So an item costs the same however many are queued.
 *
 * Retries alternate with first attempts and use at most three quarters of any limit, so first attempts always find
 * capacity that retries do not use.
 */
export class FairScheduler<T extends Schedulable> {
  private readonly graph: SchedulerGraph<T>;
  private readonly total: ConcurrencyLimit;
  private readonly readyOrganizations = new ArrayQueue<OrganizationNode<T>>();
  /** Organizations that could start a retry but for the limit of all retries. */
  private readonly organizationsAwaitingRetries = new ArrayQueue<OrganizationNode<T>>();
  private readonly canStart: () => boolean;
  private queuedCount = 0;
  private queuedRetryCount = 0;
  private startedRetryCount = 0;
  private retriesAllowed = Infinity;

  /** @param start  starts the item and calls `done` when it has ended */
  constructor(
    limits: SchedulerLimits,
    private readonly start: (item: T, origin: string, done: () => void) => void,
    { canStart = () => true, limitOf = () => limits.perOrigin }: SchedulerOptions = {},
  ) {
    this.graph = new SchedulerGraph(limits, limitOf);
    this.total = new ConcurrencyLimit(limits.total);
    this.canStart = canStart;
  }

  get active(): number {
    return this.total.active;
  }

  get queued(): number {
    return this.queuedCount;
  }

  /** The retries among `queued`. */
  get queuedRetries(): number {
    return this.queuedRetryCount;
  }

  /** Retries started since the process started. */
  get startedRetries(): number {
    return this.startedRetryCount;
  }

  /** Sets how many more retries may start until the next call. */
  allowRetries(count: number): void {
    this.retriesAllowed = count;
    this.wakeForRetries();
    this.pump();
  }

  /** Returns the organizations with items, and how many of their items ended since the last call. */
  *organizations(): Iterable<{ orgId: string; queued: number; ended: number }> {
    for (const organization of this.graph.organizations.values()) {
      const { orgId, queued, ended } = organization;
      organization.ended = 0;
      yield { orgId, queued, ended };
    }
  }

  countQueued(orgId: string): number {
    return this.graph.organizations.get(orgId)?.queued ?? 0;
  }

  add(item: T, origin: string, isRetry: boolean): void {
    const kind = isRetry ? RETRY : FIRST_ATTEMPT;
    const webhook = this.graph.webhook(item.webhookId, item.orgId, origin);
    webhook.queues[kind].push(item);
    webhook.route.organization.queued += 1;
    this.queuedCount += 1;
    this.queuedRetryCount += kind;
    this.enqueueWebhook(webhook, kind);
    this.pump();
  }

  /** Starts what may start, after the result of `canStart` or a limit has changed. */
  resume(): void {
    this.pump();
  }

  /** Changes the limit of an origin. Items that have started continue. */
  limitOrigin(origin: string, limit: number): void {
    const node = this.graph.origins.get(origin);
    if (!node) return;
    node.concurrency.limit = limit;
    for (const kind of KINDS) this.wakeRoute(node, kind);
    this.pump();
  }

  /** Removes and returns the items that have not started, of all origins or of those given. */
  clear(isIncluded: (origin: string) => boolean = () => true): T[] {
    const origins = [...this.graph.origins.values()].filter(({ origin }) => isIncluded(origin));
    return origins.flatMap(({ routes }) => [...routes].flatMap((route) => this.takeFrom(route, 0)));
  }

  /** Removes and returns the newest items of an organization, so that about `keep` items stay queued. */
  takeNewest(orgId: string, keep: number): T[] {
    const organization = this.graph.organizations.get(orgId);
    if (!organization || organization.queued <= keep) return [];
    const routes = [...organization.routes.values()];
    const queues = routes.reduce((sum, { webhooks }) => sum + webhooks.size * KINDS.length, 0);
    return routes.flatMap((route) => this.takeFrom(route, Math.ceil(keep / queues)));
  }

  private takeFrom({ webhooks, organization }: RouteNode<T>, keepPerQueue: number): T[] {
    return [...webhooks].flatMap((webhook) => {
      const taken = KINDS.flatMap((kind) => {
        const ofKind = webhook.queues[kind].takeAfter(keepPerQueue);
        this.queuedRetryCount -= kind * ofKind.length;
        return ofKind;
      });
      organization.queued -= taken.length;
      this.queuedCount -= taken.length;
      this.graph.removeIfUnused(webhook);
      return taken;
    });
  }

  private get canRetry(): boolean {
    return this.retriesAllowed >= 1 && this.total.allows(RETRY);
  }

  private pump(): void {
    while (this.total.allows(FIRST_ATTEMPT) && this.readyOrganizations.size > 0 && this.canStart()) {
      const organization = this.readyOrganizations.shift();
      if (!organization) return;
      organization.isEnqueued = false;
      const { nextKind } = organization;
      if (this.startOne(organization, nextKind)) organization.nextKind = otherKind(nextKind);
      else this.startOne(organization, otherKind(nextKind));
      this.enqueueOrganization(organization);
      this.wakeForRetries();
    }
  }

  private startOne(organization: OrganizationNode<T>, kind: Kind): boolean {
    if (
      !organization.concurrency.allows(kind) ||
      !(kind === FIRST_ATTEMPT ? this.total.allows(FIRST_ATTEMPT) : this.canRetry)
    )
      return false;
    const routes = organization.readyRoutes[kind];
    for (let route = routes.shift(); route; route = routes.shift()) {
      const { origin } = route;
      const wasWoken = organization.wokenRoutes[kind].delete(route);
      route.state[kind] = 'idle';
      if (!origin.concurrency.allows(kind)) {
        this.block(route, kind, wasWoken);
        continue;
      }
      const webhook = shiftWebhook(route, kind);
      if (!webhook) {
        this.wakeRoute(origin, kind);
        continue;
      }
      this.startNext(webhook, kind);
      return true;
    }
    return false;
  }

  private startNext(webhook: WebhookNode<T>, kind: Kind): void {
    const { organization, origin } = webhook.route;
    const item = webhook.queues[kind].shift() as T;
    this.queuedCount -= 1;
    this.queuedRetryCount -= kind;
    organization.queued -= 1;
    if (kind === RETRY) {
      this.startedRetryCount += 1;
      this.retriesAllowed -= 1;
    }
    this.total.acquire(kind);
    organization.concurrency.acquire(kind);
    origin.concurrency.acquire(kind);
    webhook.concurrency.acquire(kind);
    this.enqueueWebhook(webhook, kind);
    this.enqueueRoute(webhook.route, kind);
    this.wakeRoute(origin, kind);
    this.wakeOtherOrganizations(organization);
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
    organization.concurrency.release(kind);
    origin.concurrency.release(kind);
    webhook.concurrency.release(kind);
    organization.ended += 1;
    for (const either of KINDS) this.enqueueWebhook(webhook, either);
    const { nextKind } = origin;
    origin.nextKind = otherKind(nextKind);
    this.wakeRoute(origin, nextKind);
    this.wakeRoute(origin, otherKind(nextKind));
    this.enqueueOrganization(organization);
    this.wakeForRetries();
    this.graph.removeIfUnused(webhook);
    this.pump();
  }

  /** Appends a webhook to the queue of its route, if one of its items could start. */
  private enqueueWebhook(webhook: WebhookNode<T>, kind: Kind): void {
    if (webhook.isEnqueued[kind] || !webhook.hasStartable(kind)) return;
    webhook.isEnqueued[kind] = true;
    webhook.route.readyWebhooks[kind].push(webhook);
    this.enqueueRoute(webhook.route, kind);
  }

  /** Appends a route to the queue of its organization, or to that of its origin when others are blocked there. */
  private enqueueRoute(route: RouteNode<T>, kind: Kind): void {
    if (route.state[kind] !== 'idle' || route.readyWebhooks[kind].size === 0) return;
    if (route.origin.blockedRoutes[kind].size > 0) return this.block(route, kind, false);
    route.state[kind] = 'ready';
    route.organization.readyRoutes[kind].push(route);
    this.enqueueOrganization(route.organization);
  }

  private block(route: RouteNode<T>, kind: Kind, isFirst: boolean): void {
    const blocked = route.origin.blockedRoutes[kind];
    route.state[kind] = 'blocked';
    if (isFirst) blocked.unshift(route);
    else blocked.push(route);
    this.wakeRoute(route.origin, kind);
  }

  /** Wakes the first blocked route that can use the free capacity of the origin. */
  private wakeRoute({ concurrency, blockedRoutes }: OriginNode<T>, kind: Kind): void {
    while (blockedRoutes[kind].size > 0 && concurrency.allows(kind)) {
      const route = blockedRoutes[kind].shift() as RouteNode<T>;
      const { organization } = route;
      route.state[kind] = 'ready';
      organization.readyRoutes[kind].push(route);
      if (!organization.concurrency.allows(kind)) continue;
      organization.wokenRoutes[kind].add(route);
      return this.enqueueOrganization(organization);
    }
  }

  /** Wakes routes of other organizations in place of those of an organization that has reached its limit. */
  private wakeOtherOrganizations({ concurrency, wokenRoutes }: OrganizationNode<T>): void {
    for (const kind of KINDS) {
      if (wokenRoutes[kind].size === 0 || concurrency.allows(kind)) continue;
      const routes = [...wokenRoutes[kind]];
      wokenRoutes[kind].clear();
      for (const { origin } of routes) this.wakeRoute(origin, kind);
    }
  }

  private enqueueOrganization(organization: OrganizationNode<T>): void {
    const hasRetries = organization.hasStartable(RETRY);
    if (!organization.isEnqueued && (organization.hasStartable(FIRST_ATTEMPT) || (hasRetries && this.canRetry))) {
      organization.isEnqueued = true;
      this.readyOrganizations.push(organization);
    } else if (hasRetries && !organization.isAwaitingRetries && !this.canRetry) {
      organization.isAwaitingRetries = true;
      this.organizationsAwaitingRetries.push(organization);
    }
  }

  private wakeForRetries(): void {
    while (this.organizationsAwaitingRetries.size > 0 && this.canRetry) {
      const organization = this.organizationsAwaitingRetries.shift() as OrganizationNode<T>;
      organization.isAwaitingRetries = false;
      this.enqueueOrganization(organization);
      if (organization.isEnqueued) return;
    }
  }
}

function shiftWebhook<T>({ readyWebhooks }: RouteNode<T>, kind: Kind): WebhookNode<T> | null {
  for (let webhook = readyWebhooks[kind].shift(); webhook; webhook = readyWebhooks[kind].shift()) {
    webhook.isEnqueued[kind] = false;
    if (webhook.hasStartable(kind)) return webhook;
  }
  return null;
}
